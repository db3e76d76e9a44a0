import type { BuildOptions } from 'esbuild'

export const pageFiles: Readonly<Record<string, BuildOptions>>
