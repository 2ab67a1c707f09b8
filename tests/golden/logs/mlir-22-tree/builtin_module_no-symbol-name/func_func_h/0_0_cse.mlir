// -----// IR Dump After CSE (cse) //----- //
func.func private @h(%arg0: i32) -> i32 {
  return %arg0 : i32
}

