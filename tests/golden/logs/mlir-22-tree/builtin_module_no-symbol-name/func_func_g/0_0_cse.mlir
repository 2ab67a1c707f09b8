// -----// IR Dump After CSE (cse) //----- //
func.func @g(%arg0: memref<4xf32>, %arg1: index, %arg2: i1) -> f32 {
  %0 = memref.load %arg0[%arg1] : memref<4xf32>
  %1 = scf.if %arg2 -> (f32) {
    scf.yield %0 : f32
  } else {
    scf.yield %0 : f32
  }
  %c0_i32 = arith.constant 0 : i32
  %2 = call @h(%c0_i32) : (i32) -> i32
  return %1 : f32
}

