import ts from 'typescript'
import type { CodeBlock } from './codeBlocks.ts'

/** The blocks of one page as one module. */
export type PageProgram = {
  page: string
  code: string
  /** The line of the page for each line of the code; 0 for lines that are not of the page. */
  lines: number[]
}

/**
 * Each block sees the names of those before it, and may use them for something else: block after block is one scope
 * deeper. Imports are collected at the top, where they may be told more than once.
 */
export const pageProgram = (page: string, blocks: readonly CodeBlock[]): PageProgram => {
  const imports = new Imports()
  const code: string[] = []
  const lines: number[] = []
  const add = (text: string, line: number) => {
    code.push(text)
    lines.push(line)
  }
  const bodies = blocks.map((block) => ({ block, body: withoutImports(block, imports) }))
  add(imports.toString(), 0)
  for (const { block, body } of bodies) {
    add(`{ (globalThis as { block?: string }).block = ${JSON.stringify(`${page}:${block.line}`)}`, 0)
    body.split('\n').forEach((text, index) => {
      add(text, block.line + index)
    })
  }
  add('}'.repeat(blocks.length), 0)
  return { page, code: code.join('\n'), lines }
}

/** The block's code with its imports blanked out, so that its lines stay where they are. */
const withoutImports = ({ code }: CodeBlock, imports: Imports): string => {
  const source = ts.createSourceFile('block.ts', code, ts.ScriptTarget.Latest)
  let body = code
  for (const statement of source.statements) {
    if (!ts.isImportDeclaration(statement)) continue
    imports.add(statement, source)
    const text = code.slice(statement.pos, statement.end)
    body = body.slice(0, statement.pos) + text.replace(/[^\n]/g, ' ') + body.slice(statement.end)
  }
  return body
}

class Imports {
  readonly #named = new Map<string, Set<string>>()
  readonly #whole = new Set<string>()

  add({ importClause, moduleSpecifier }: ts.ImportDeclaration, source: ts.SourceFile): void {
    const from = moduleSpecifier.getText(source)
    const bindings = importClause?.namedBindings
    if (importClause?.name) this.#whole.add(`import ${importClause.name.text} from ${from}`)
    if (bindings && ts.isNamespaceImport(bindings))
      this.#whole.add(`import ${bindings.getText(source)} from ${from}`)
    if (!bindings || !ts.isNamedImports(bindings)) return
    const names = this.#named.get(from) ?? new Set()
    const type = importClause.isTypeOnly ? 'type ' : ''
    for (const each of bindings.elements) names.add(type + each.getText(source))
    this.#named.set(from, names)
  }

  toString(): string {
    const named = [...this.#named].map(([from, names]) => `import { ${[...names].join(', ')} } from ${from}`)
    return [...this.#whole, ...named].join('; ')
  }
}
