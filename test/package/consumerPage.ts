import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { transform } from 'esbuild'
import ts from 'typescript'
import type { PageProgram } from '../docs/pageProgram.ts'
import { runProgram } from '../runScript.ts'

/** The two kinds of modules of Node. CommonJS cannot wait at its top. */
export const kinds = { mts: 'esm', cts: 'cjs' } as const
export type Kind = keyof typeof kinds

/** The blocks of a page as a module of a project. The imports are its first line. */
const sourceOf = ({ code }: PageProgram, kind: Kind): string => {
  if (kind === 'mts') return code
  const [imports, ...body] = code.split('\n')
  return [imports, `export const page = (async () => {${body.join('\n')}`, '})()'].join('\n')
}

const strict: ts.CompilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts'],
  types: ['node'],
  noEmit: true,
}

/** How a project may look for its packages, and the modules it may have then. */
export const resolutions: Record<string, { options: ts.CompilerOptions; kinds: readonly Kind[] }> = {
  bundler: {
    options: { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
    kinds: ['mts'],
  },
  node16: {
    options: { module: ts.ModuleKind.Node16, moduleResolution: ts.ModuleResolutionKind.Node16 },
    kinds: ['mts', 'cts'],
  },
}

/** What the compiler has against the page, and against our declarations, in a project without any leniency. */
export const problemsIn = async (
  folder: string,
  page: PageProgram,
  resolution: (typeof resolutions)[string],
): Promise<string[]> => {
  const names = resolution.kinds.map((kind) => join(folder, `page.${kind}`))
  for (const [index, name] of names.entries()) {
    await writeFile(name, sourceOf(page, resolution.kinds[index] ?? 'mts'))
  }
  const options = { ...strict, ...resolution.options, typeRoots: [join(folder, 'node_modules/@types')] }
  const program = ts.createProgram(names, options)
  const ours = program.getSourceFiles().filter(({ fileName }) => /\/node_modules\/statewire\//.test(fileName))
  if (ours.length === 0) return ['The declarations of statewire were not found.']
  const sources = [...names.flatMap((name) => program.getSourceFile(name) ?? []), ...ours]
  const found = [
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...sources.flatMap((source) => [
      ...program.getSyntacticDiagnostics(source),
      ...program.getSemanticDiagnostics(source),
    ]),
  ]
  return found.map(({ file, start = 0, messageText }) => {
    const line = file ? ts.getLineAndCharacterOfPosition(file, start).line : 0
    const place = file && names.includes(file.fileName) ? `${page.page}:${page.lines[line]}` : file?.fileName
    return `${place}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
  })
}

/** Runs the page in the project; undefined if it came through, else what it printed. */
export const runIn = async (folder: string, page: PageProgram, kind: Kind): Promise<string | undefined> => {
  const ended = kind === 'mts' ? 'await endOfPage()' : 'page.then(() => endOfPage())'
  const { code } = await transform(`${sourceOf(page, kind)}\n${ended}`, {
    loader: 'ts',
    target: 'node20',
    format: kinds[kind],
  })
  const file = join(folder, kind === 'mts' ? 'page.mjs' : 'page.cjs')
  await writeFile(file, code)
  // Node 20.18 cannot require ES modules yet: nor may we.
  const args = ['--no-experimental-require-module', '--import', './offline.mjs', file]
  const { printed, code: status } = await runProgram(process.execPath, args, { cwd: folder })
  return status === 0 ? undefined : printed
}
