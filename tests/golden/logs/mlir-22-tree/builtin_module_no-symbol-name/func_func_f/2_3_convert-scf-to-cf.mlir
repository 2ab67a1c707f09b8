// -----// IR Dump After SCFToControlFlowPass (convert-scf-to-cf) //----- //
func.func @f(%arg0: i32, %arg1: i32) -> i32 {
  %0 = arith.addi %arg0, %arg1 : i32
  %1 = arith.muli %0, %0 : i32
  return %1 : i32
}

