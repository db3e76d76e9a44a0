// The entry of one name in the reference: a description, its call or its fields, an example.
import ts from 'typescript'

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

const longest = 90

/** A type as its author wrote it, on one line. One that is too long to read in a table is named by its kind. */
export const shortType = (node) => {
  if (!node) return ''
  const text = node
    .getText()
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\s+/g, ' ')
    .replace(/^\| /, '')
    .trim()
  if (text.length <= longest) return text
  if (ts.isFunctionTypeNode(node)) return `(${namesOf(node.parameters)}) => …`
  if (ts.isUnionTypeNode(node) && node.types.every(ts.isTypeLiteralNode)) return 'one of several objects'
  return ts.isTypeLiteralNode(node) ? 'object' : `${text.slice(0, longest - 2)} …`
}

/** The names of parameters; one that is taken apart at once is called `options`. */
export const namesOf = (parameters) =>
  parameters
    .map(({ name, questionToken, initializer, dotDotDotToken }) => {
      const plain = ts.isIdentifier(name) ? name.text : 'options'
      return `${dotDotDotToken ? '...' : ''}${plain}${questionToken || initializer ? '?' : ''}`
    })
    .join(', ')

const declarationOf = (symbol) => symbol.declarations?.find((each) => each.type ?? each.parameters)

const cell = (text) => text.replaceAll('|', '\\|').replace(/\s*\n\s*/g, ' ')

const code = (text) => (text ? `\`${text}\`` : '')

/** A row of the table of fields: a method has its parameters at its name and its result as its type. */
const fieldOf = (symbol, checker, isMarked) => {
  const declaration = declarationOf(symbol)
  const isMethod = declaration && (ts.isMethodSignature(declaration) || ts.isMethodDeclaration(declaration))
  const { text, value } = splitDefault(textOf(symbol, checker))
  return {
    name: `${symbol.getName()}${isMethod ? `(${namesOf(declaration.parameters)})` : isMarked && isOptional(symbol) ? '?' : ''}`,
    // A field of two types that were put together has both.
    type: [...new Set(symbol.declarations?.map(({ type }) => shortType(type)))].filter(Boolean).join(' & '),
    value,
    text,
  }
}

const isOptional = (symbol) => (symbol.flags & ts.SymbolFlags.Optional) !== 0

/** The fields of a type. Those that may be left out are marked, unless that is all of them. */
export const fieldsOf = (type, checker) => {
  const symbols = checker
    .getPropertiesOfType(type)
    .filter((symbol) => !symbol.getName().startsWith('__') && !isInternal(symbol))
  const isMarked = !symbols.every(isOptional)
  return symbols.map((symbol) => fieldOf(symbol, checker, isMarked))
}

/** Columns that would be empty are left out. `link` makes a link of a type that is on some page. */
export const fieldTable = (fields, link) => {
  const columns = [
    ['name', ({ name }) => code(name)],
    ['type', ({ type }) => link(type) ?? code(type)],
    ['default', ({ value }) => value],
    ['', ({ text }) => text],
  ].filter(([, of]) => fields.some((field) => of(field) !== ''))
  return [
    `| ${columns.map(([title]) => title).join(' | ')} |`,
    `| ${columns.map(() => '---').join(' | ')} |`,
    ...fields.map((field) => `| ${columns.map(([, of]) => cell(of(field))).join(' | ')} |`),
  ].join('\n')
}

/** The text of a comment; paragraphs stay apart. */
export const textOf = (symbol, checker) =>
  ts
    .displayPartsToString(symbol.getDocumentationComment(checker))
    .split(/\n{2,}/)
    .map((paragraph) => (/^[-*|] /m.test(paragraph) ? paragraph : paragraph.replace(/\s*\n\s*/g, ' ')))
    .join('\n\n')
    .trim()

const tagsOf = (symbol, checker, name) =>
  symbol
    .getJsDocTags(checker)
    .filter((tag) => tag.name === name)
    .map(({ text }) => ts.displayPartsToString(text).trim())

export const examplesOf = (symbol, checker) => tagsOf(symbol, checker, 'example')

export const isInternal = (symbol) => symbol.getJsDocTags().some(({ name }) => name === 'internal')

/** The last sentence of a comment may be `Default: …`: it has a column of its own. */
export const splitDefault = (text) => {
  const [, before = '', value] = /^([\s\S]*?)\s*\bDefault: ([\s\S]+?)\.?$/.exec(text) ?? []
  return value ? { text: before.trim(), value } : { text, value: '' }
}
