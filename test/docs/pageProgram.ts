import ts from 'typescript'
import type { CodeBlock } from './codeBlocks.ts'

/** Blocks of one page that go into one file, as a module. */
export type PageProgram = {
  page: string
  /** The page, and the file if the page names one. */
  title: string
  code: string
  /** The line of the page for each line of the code; 0 for lines that are not of the page. */
  lines: number[]
}

/** The files that a reader of this page has in the end. */
export const pagePrograms = (page: string, blocks: readonly CodeBlock[]): PageProgram[] => {
  const files: CodeBlock[][] = []
  for (const block of blocks) {
    const last = files.at(-1)
    if (last && block.file === undefined) last.push(block)
    else files.push([block])
  }
  return files.map((each) => pageProgram(page, each))
}

/**
 * The blocks one below the other, as a reader pastes them: a name that two of them declare, or import, is an error. The
 * imports are the first line.
 */
export const pageProgram = (page: string, blocks: readonly CodeBlock[]): PageProgram => {
  const code: string[] = []
  const lines: number[] = []
  const add = (text: string, line: number) => {
    code.push(text)
    lines.push(line)
  }
  const parts = blocks.map((block) => ({ block, ...withoutImports(block) }))
  add(parts.flatMap(({ imports }) => imports).join('; '), 0)
  for (const { block, body } of parts) {
    add(`;(globalThis as { block?: string }).block = ${JSON.stringify(`${page}:${block.line}`)}`, 0)
    body.split('\n').forEach((text, index) => {
      add(text, block.line + index)
    })
  }
  const file = blocks[0]?.file
  return { page, title: file ? `${page}, ${file}` : page, code: code.join('\n'), lines }
}

/** The block's imports, each on one line, and its code with them blanked out, so that its lines stay where they are. */
const withoutImports = ({ code }: CodeBlock): { imports: string[]; body: string } => {
  const source = ts.createSourceFile('block.ts', code, ts.ScriptTarget.Latest)
  const imports: string[] = []
  let body = code
  for (const statement of source.statements) {
    if (!ts.isImportDeclaration(statement)) continue
    const text = code.slice(statement.pos, statement.end)
    imports.push(
      text
        .replace(/\/\/.*$/gm, '')
        .replace(/\s+/g, ' ')
        .trim(),
    )
    body = body.slice(0, statement.pos) + text.replace(/[^\n]/g, ' ') + body.slice(statement.end)
  }
  return { imports, body }
}
