"""Weight streaming: which literals stay on the GPU, when the others are copied, and where they are put."""
