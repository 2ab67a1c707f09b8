// -----// IR Dump After Inliner (inline) //----- //
module {
  func.func @f(%arg0: i32, %arg1: i32) -> i32 {
    %0 = arith.addi %arg0, %arg1 : i32
    %1 = arith.muli %0, %0 : i32
    return %1 : i32
  }
  func.func @g(%arg0: memref<4xf32>, %arg1: index, %arg2: i1) -> f32 {
    %0 = memref.load %arg0[%arg1] : memref<4xf32>
    return %0 : f32
  }
}


