// -----// IR Dump After SCFToControlFlowPass (convert-scf-to-cf) //----- //
func.func @g(%arg0: memref<4xf32>, %arg1: index, %arg2: i1) -> f32 {
  %0 = memref.load %arg0[%arg1] : memref<4xf32>
  return %0 : f32
}

