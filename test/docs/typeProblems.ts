import { resolve } from 'node:path'
import ts from 'typescript'
import type { PageProgram } from './pageProgram.ts'

const options: ts.CompilerOptions = {
  strict: true,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'],
  jsx: ts.JsxEmit.ReactJSX,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  types: ['node'],
  noEmit: true,
  skipLibCheck: true,
}

/** The problems that the compiler has with pages and files, as a user of the built package would see them. */
export const typeProblems = (programs: readonly PageProgram[], files: readonly string[] = []): string[] => {
  const pages = new Map(programs.map((each) => [resolve(`${each.title.replace(/\W+/g, '-')}.ts`), each]))
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists, readFile } = host
  host.fileExists = (name) => pages.has(name) || fileExists(name)
  host.readFile = (name) => pages.get(name)?.code ?? readFile(name)
  host.getSourceFile = (name, ...rest) => {
    const page = pages.get(name)
    return page ? ts.createSourceFile(name, page.code, rest[0]) : getSourceFile(name, ...rest)
  }
  const program = ts.createProgram([...pages.keys(), ...files], options, host)
  const names = [...pages.keys(), ...files]
  return names.flatMap((name) => {
    const page = pages.get(name)
    const source = program.getSourceFile(name)
    if (!source) return [`${name} could not be read.`]
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]
    return found.map(({ start = 0, messageText }) => {
      const { line } = ts.getLineAndCharacterOfPosition(source, start)
      const place = page ? `${page.page}:${page.lines[line]}` : `${name}:${line + 1}`
      return `${place}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
    })
  })
}
