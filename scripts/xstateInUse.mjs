// Everything of XState that the sources use, as the compiler sees it: what is imported, and the members of its types.
import { relative } from 'node:path'
import ts from 'typescript'

const folders = ['machines', 'providers', 'src']

const programOf = () => {
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => {} }
  const { fileNames, options } = ts.getParsedCommandLineOfConfigFile('tsconfig.json', {}, host)
  const sources = fileNames.filter((file) => folders.includes(relative('.', file).split(/[\\/]/)[0]))
  return { program: ts.createProgram(sources, { ...options, noEmit: true }), sources }
}

const isFileOfXState = ({ fileName }) => /[\\/]node_modules[\\/]xstate[\\/]/.test(fileName)

const isOfXState = (declaration) => isFileOfXState(declaration.getSourceFile())

/** The names of all members that XState declares. The compiler is only asked about these: it takes its time. */
const declaredNames = (program) => {
  const names = new Set()
  const visit = (node) => {
    if ((ts.isTypeElement(node) || ts.isClassElement(node)) && node.name) names.add(node.name.text)
    ts.forEachChild(node, visit)
  }
  program.getSourceFiles().filter(isFileOfXState).forEach(visit)
  return names
}

/** The type, class or function that a member is declared in. */
const ownerOf = (declaration) => {
  let node = declaration.parent
  while (!node.name || !ts.isIdentifier(node.name) || ts.isParameter(node)) node = node.parent
  return node.name.text
}

/** The member that a name means: read, taken apart, or given in an object that XState gets. */
const memberOf = (checker, name) => {
  const { parent } = name
  if (ts.isPropertyAccessExpression(parent) && parent.name === name) return checker.getSymbolAtLocation(name)
  if (ts.isBindingElement(parent) && (parent.propertyName ?? parent.name) === name)
    return checker.getTypeAtLocation(parent.parent).getProperty(name.text)
  if (
    ts.isObjectLiteralElement(parent) &&
    parent.name === name &&
    ts.isObjectLiteralExpression(parent.parent)
  )
    return checker.getContextualType(parent.parent)?.getProperty(name.text)
  return undefined
}

/** The module of XState that `xstate.assign` or the type `xstate.ActionArgs` is taken from, if it was imported whole. */
const moduleOf = (checker, node) => {
  const [left, name] = ts.isQualifiedName(node.parent)
    ? [node.parent.left, node.parent.right]
    : ts.isPropertyAccessExpression(node.parent)
      ? [node.parent.expression, node.parent.name]
      : []
  if (name !== node || !ts.isIdentifier(left)) return undefined
  const declaration = checker.getSymbolAtLocation(left)?.declarations?.[0]
  return declaration && ts.isNamespaceImport(declaration) && isModuleOfXState(declaration.parent.parent)
    ? declaration.parent.parent.moduleSpecifier.text
    : undefined
}

const isModuleOfXState = (node) =>
  ts.isImportDeclaration(node) && /^(?:@xstate\/|xstate(?:\/|$))/.test(node.moduleSpecifier.text)

/** The members that are used, by their owner. An import belongs to the module that it comes from. */
const usesOf = () => {
  const { program, sources } = programOf()
  const checker = program.getTypeChecker()
  const declared = declaredNames(program)
  const uses = new Map()
  const add = (owner, name, file) => {
    const [top, next] = relative('.', file).split(/[\\/]/)
    const used = uses.get(owner) ?? { names: new Set(), folders: new Set() }
    used.names.add(name)
    used.folders.add(top === 'src' && !next.includes('.') ? `src/${next}` : top)
    uses.set(owner, used)
  }
  for (const file of sources) {
    const visit = (node) => {
      if (isModuleOfXState(node))
        for (const { name, propertyName } of node.importClause?.namedBindings?.elements ?? [])
          add(`import from '${node.moduleSpecifier.text}'`, (propertyName ?? name).text, file)
      const module = ts.isIdentifier(node) ? moduleOf(checker, node) : undefined
      if (module) add(`import from '${module}'`, node.text, file)
      else if (ts.isIdentifier(node) && declared.has(node.text)) {
        const member = memberOf(checker, node)
        const declaration = member?.declarations?.find(isOfXState)
        if (declaration) add(ownerOf(declaration), member.name, file)
      }
      ts.forEachChild(node, visit)
    }
    visit(program.getSourceFile(file))
  }
  return uses
}

const listed = (names) =>
  [...names]
    .toSorted()
    .map((name) => `\`${name}\``)
    .join(', ')

export const xstateTable = () => [
  '| of XState | what is used | by |',
  '| --- | --- | --- |',
  ...[...usesOf()]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([owner, used]) => `| \`${owner}\` | ${listed(used.names)} | ${listed(used.folders)} |`),
]
