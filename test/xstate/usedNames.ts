import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

const root = join(import.meta.dirname, '../..')
const declarations = 'node_modules/xstate/dist/declarations/src'

type MemberName = ts.Identifier | ts.StringLiteralLike

/** A member that looks as if it were not meant for us, and where it is used. */
export type Use = { name: string; at: string }

export const sourcesIn = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(folder, file))

/** Each file is read once, whatever is looked for in it. */
const read = new Map<string, ts.Node[]>()

const nodesOf = (file: string): ts.Node[] => {
  const known = read.get(file)
  if (known) return known
  const text = readFileSync(join(root, file), 'utf8')
  const nodes: ts.Node[] = []
  const visit = (node: ts.Node): void => {
    nodes.push(node)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true))
  read.set(file, nodes)
  return nodes
}

/** The members that XState's types name: those for everybody, and those that they call private. */
const namedByXState = () => {
  const published = new Set<string>()
  const hidden = new Set<string>()
  for (const node of sourcesIn(declarations).flatMap(nodesOf)) {
    if (!ts.isTypeElement(node) && !ts.isClassElement(node)) continue
    if (!node.name || !ts.isIdentifier(node.name)) continue
    const isPrivate = (ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Private) !== 0
    ;(isPrivate ? hidden : published).add(node.name.text)
  }
  return { published, hidden }
}

export const { published, hidden } = namedByXState()

/** Members without an underscore that are XState's own all the same; `syncSnapshot` is typed, but not for actors. */
const knownInsides = ['eventListeners', 'mailbox', 'observers', 'syncSnapshot']

const looksPrivate = ({ text }: MemberName): boolean =>
  /^_[a-zA-Z]\w*$/.test(text) || knownInsides.includes(text)

/** Every member that a file names which has an underscore, is known to be XState's own, or is private in brackets. */
export const usesIn = (file: string): Use[] =>
  nodesOf(file).flatMap((node) => {
    const isUse = isMemberName(node) && (looksPrivate(node) || isHiddenInBrackets(node))
    return isUse ? [{ name: node.text, at: placeOf(node) }] : []
  })

/** The compiler lets private members pass in brackets, and only there. */
const isHiddenInBrackets = (node: MemberName): boolean =>
  ts.isElementAccessExpression(node.parent) && hidden.has(node.text)

/** Whether a node names a member: after a dot, in a pattern, in an object or a type, or as a text. */
const isMemberName = (node: ts.Node): node is MemberName => {
  // As in `'mailbox' in actor`, `actor['mailbox']` and `Reflect.get(actor, 'mailbox')`.
  if (ts.isStringLiteralLike(node)) return true
  if (!ts.isIdentifier(node)) return false
  const { parent } = node
  if (ts.isBindingElement(parent)) {
    return ts.isObjectBindingPattern(parent.parent) && (parent.propertyName ?? parent.name) === node
  }
  return (
    (ts.isPropertyAccessExpression(parent) ||
      ts.isPropertyAssignment(parent) ||
      ts.isShorthandPropertyAssignment(parent) ||
      ts.isPropertySignature(parent)) &&
    parent.name === node
  )
}

/** Ways to change what belongs to other code, or to talk the compiler into it. */
export const tricksIn = (file: string): string[] =>
  nodesOf(file).flatMap((node) => {
    const trick = trickOf(node)
    return trick === '' ? [] : [`${placeOf(node)} ${trick}`]
  })

const trickOf = (node: ts.Node): string => {
  if (ts.isCallExpression(node)) {
    const called = node.expression.getText()
    const [given] = node.arguments
    if (called === 'Object.create' && given?.kind !== ts.SyntaxKind.NullKeyword)
      return 'makes an object of another one'
    if (
      /^(Object|Reflect)\.(assign|definePropert)/.test(called) &&
      /\.prototype$/.test(given?.getText() ?? '')
    )
      return 'changes a prototype'
  }
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken) {
    if (/\.(prototype|__proto__)\b/.test(node.left.getText())) return 'changes a prototype'
  }
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
    const from = node.moduleSpecifier?.getText().slice(1, -1) ?? ''
    if (from.startsWith('xstate/')) return `imports from ${from}`
  }
  if (ts.isAsExpression(node) && ts.isAsExpression(node.expression)) {
    if (node.expression.type.kind === ts.SyntaxKind.UnknownKeyword) return 'is cast through unknown'
  }
  return ''
}

const placeOf = (node: ts.Node): string => {
  const source = node.getSourceFile()
  return `${source.fileName}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
}
