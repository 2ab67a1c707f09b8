// -----// IR Dump After Canonicalizer (canonicalize) //----- //
func.func @g(%arg0: memref<4xf32>, %arg1: index, %arg2: i1) -> f32 {
  %c0_i32 = arith.constant 0 : i32
  %0 = memref.load %arg0[%arg1] : memref<4xf32>
  %1 = call @h(%c0_i32) : (i32) -> i32
  return %0 : f32
}

