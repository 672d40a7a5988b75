// Functions without a body are allowed in packages with an assembly file.
