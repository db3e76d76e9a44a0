// The fields of a type as one table: name, type, default, what it means.
import ts from 'typescript'
import { isInternal, splitDefault, textOf } from './comments.mjs'

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

/** One field: a method has its parameters at its name and its result as its type. */
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
