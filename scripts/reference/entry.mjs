// What the reference says about one name: a description, how it is called or what it is made of, an example.
import ts from 'typescript'
import { examplesOf, isInternal, textOf } from './comments.mjs'
import { fieldsOf, fieldTable, namesOf, shortType } from './fields.mjs'

const block = (text) => `\`\`\`ts\n${text}\n\`\`\``

const withoutComments = (text) => text.replace(/^\s*\/\*\*[\s\S]*?\*\/\n?/gm, '')

/** A call as its author wrote it: on one line where it fits. */
const callOf = (name, { typeParameters, parameters, type }) => {
  const generics = typeParameters ? `<${typeParameters.map((each) => each.getText()).join(', ')}>` : ''
  const each = parameters.map(parameterText)
  const result = type ? `: ${oneLine(type)}` : ''
  const line = `${name}${generics}(${each.join(', ')})${result}`
  return line.length <= 100
    ? line
    : `${name}${generics}(\n${each.map((text) => `  ${text},\n`).join('')})${result}`
}

/** `...rest: Last<Options>` is how a last argument is typed that may be required. */
const parameterText = (parameter) => {
  const type = parameter.type ? oneLine(parameter.type) : ''
  const [, options] = /^Last<(.+)>$/.exec(type) ?? []
  if (options) return `options?: ${options}`
  return `${namesOf([parameter])}${type && `: ${type}`}`
}

const oneLine = (node) => withoutComments(node.getText()).replace(/\s+/g, ' ')

/** The function behind a name: declared, or a constant that is one. */
const functionOf = (declaration) => {
  if (ts.isFunctionDeclaration(declaration)) return declaration
  const { initializer } = ts.isVariableDeclaration(declaration) ? declaration : {}
  return initializer && ts.isArrowFunction(initializer) ? initializer : undefined
}

const isPublic = (member) =>
  member.name &&
  !ts.isPrivateIdentifier(member.name) &&
  !(ts.getCombinedModifierFlags(member) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected))

const membersOf = (declaration, checker) =>
  declaration.members.filter(isPublic).flatMap((member) => {
    const symbol = checker.getSymbolAtLocation(member.name)
    return symbol && !isInternal(symbol) ? [{ member, symbol }] : []
  })

const classParts = (name, declaration, checker, link) => {
  const { members } = declaration
  const making = members.find(ts.isConstructorDeclaration)
  const makes = making && !ts.getJSDocTags(making).some(({ tagName }) => tagName.text === 'internal')
  const all = membersOf(declaration, checker)
  const methods = all.filter(({ member }) => ts.isMethodDeclaration(member))
  const fields = all
    .filter(({ member }) => ts.isPropertyDeclaration(member) || ts.isGetAccessor(member))
    .filter(({ member }) => !(ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Static))
    .map(({ member, symbol }) => ({
      name: symbol.getName(),
      type: shortType(member.type),
      value: '',
      text: textOf(symbol, checker),
    }))
    // The `name` of an error is that of its class.
    .filter(({ name: field, type, text }) => field !== 'name' || type !== '' || text !== '')
  const [parent] =
    declaration.heritageClauses?.find(({ token }) => token === ts.SyntaxKind.ExtendsKeyword)?.types ?? []
  return [
    ...(parent ? [`Extends ${link(parent.getText()) ?? `\`${parent.getText()}\``}.`] : []),
    ...(makes ? [block(callOf(`new ${name}`, making))] : []),
    ...examplesOf(checker.getSymbolAtLocation(declaration.name), checker).map(block),
    ...(fields.length > 0 ? [fieldTable(fields, link)] : []),
    ...[...new Set(methods.map(({ symbol }) => symbol))].flatMap((symbol) => {
      const overloads = methods.filter((each) => each.symbol === symbol).map(({ member }) => member)
      const shown = overloads.length === 1 ? overloads : overloads.filter(({ body }) => !body)
      const called = shown[0].name.getText()
      return [
        `### ${name}.${called}`.replace('.[', '['),
        block(shown.map((member) => callOf(called, member)).join('\n')),
        textOf(symbol, checker),
        ...examplesOf(symbol, checker).map(block),
      ]
    }),
  ]
}

const typeParts = ({ declaration, type }, checker, link) => {
  const own = type ?? checker.getTypeAtLocation(declaration.name)
  const node = ts.isInterfaceDeclaration(declaration) ? declaration : declaration.type
  const isTable =
    (ts.isTypeLiteralNode(node) || ts.isIntersectionTypeNode(node) || ts.isInterfaceDeclaration(node)) &&
    !own.isUnion() &&
    own.getCallSignatures().length === 0 &&
    checker.getPropertiesOfType(own).length > 0
  if (isTable) return [fieldTable(fieldsOf(own, checker), link)]
  return [block(declaration.getText().replace(/^export (declare )?/, ''))]
}

const partsOf = (each, checker, link) => {
  const { name, declaration } = each
  if (ts.isClassDeclaration(declaration)) return classParts(name, declaration, checker, link)
  if (ts.isTypeAliasDeclaration(declaration) || ts.isInterfaceDeclaration(declaration))
    return typeParts(each, checker, link)
  const called = functionOf(declaration)
  if (called) return [block(callOf(name, called))]
  return declaration.type ? [block(`${name}: ${oneLine(declaration.type)}`)] : []
}

export const isForeign = ({ file }) => file.startsWith('node_modules/')

/** The text below the heading of a name. */
export const entryOfName = (each, checker, link) => {
  if (isForeign(each)) return `Exported from \`${each.file.split('/')[1]}\`, where it is described.`
  return [
    textOf(each.symbol, checker),
    ...partsOf(each, checker, link),
    // The example of a class comes before its methods.
    ...(ts.isClassDeclaration(each.declaration) ? [] : examplesOf(each.symbol, checker).map(block)),
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}
