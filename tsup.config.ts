import { defineConfig } from 'tsup'

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    machines: 'machines/index.ts',
    providers: 'providers/index.ts',
    testing: 'src/testing/index.ts',
  },
  format: ['esm', 'cjs'],
  target: 'node20',
  dts: true,
  clean: true,
  splitting: true,
  treeshake: true,
})
