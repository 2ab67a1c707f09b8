// -----// IR Dump After Canonicalizer (canonicalize) //----- //
func.func private @h(%arg0: i32) -> i32 {
  return %arg0 : i32
}

