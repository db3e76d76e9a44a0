// Every name that the package exports, as the compiler sees it.
import { readdirSync, readFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import ts from 'typescript'

const { options } = ts.parseJsonConfigFileContent(
  ts.readConfigFile('tsconfig.json', ts.sys.readFile).config,
  ts.sys,
  process.cwd(),
)

const values = readdirSync('providers/values')

/** The entries of the package, by the name that is imported, with the file of each. */
export const entries = Object.keys(JSON.parse(readFileSync('package.json', 'utf8')).exports)
  .filter((path) => !path.endsWith('.json'))
  .map((path) => path.slice(2))
  // Providers as values: an entry for each file.
  .flatMap((name) =>
    name.endsWith('/*') ? values.map((file) => name.replace('*', file.replace('.ts', ''))) : [name],
  )
  .map((name) => ({
    name,
    from: name ? `statewire/${name}` : 'statewire',
    file: !name
      ? 'src/index.ts'
      : /^(machines|providers)$/.test(name)
        ? `${name}/index.ts`
        : name.startsWith('providers/')
          ? `${name.replace('/', '/values/')}.ts`
          : `src/${name}/index.ts`,
  }))

const resolved = (checker, symbol) =>
  symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol

const exportsOf = (program, { file }) => {
  const checker = program.getTypeChecker()
  const source = program.getSourceFile(file)
  return checker
    .getExportsOfModule(checker.getSymbolAtLocation(source))
    .map((symbol) => ({ name: symbol.getName(), symbol: resolved(checker, symbol) }))
}

/** A generic type has its fields only once its parameters have their defaults: so each is named once, without any. */
const useFile = resolve('every-public-type.ts')

const usesOf = (program) =>
  entries
    .flatMap((entry, index) => [
      `import type * as e${index} from './${entry.file}'`,
      ...exportsOf(program, entry)
        .filter(({ symbol }) => symbol.declarations?.some(canBeUsed))
        .map(({ name }) => `export declare const u${index}_${name}: e${index}.${name}`),
    ])
    .join('\n')

const canBeUsed = (declaration) =>
  (ts.isTypeAliasDeclaration(declaration) || ts.isInterfaceDeclaration(declaration)) &&
  (declaration.typeParameters ?? []).every(({ default: value }) => value)

const programWith = (text) => {
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists, readFile } = host
  host.fileExists = (name) => name === useFile || fileExists(name)
  host.readFile = (name) => (name === useFile ? text : readFile(name))
  host.getSourceFile = (name, ...rest) =>
    name === useFile ? ts.createSourceFile(name, text, rest[0]) : getSourceFile(name, ...rest)
  return ts.createProgram([...entries.map(({ file }) => file), useFile], options, host)
}

/** `{ name, entry, symbol, declaration, file, type }` of every public name, once: where it is exported first. */
export const publicNames = () => {
  const program = programWith(
    usesOf(
      ts.createProgram(
        entries.map(({ file }) => file),
        options,
      ),
    ),
  )
  const checker = program.getTypeChecker()
  const uses = new Map(
    checker
      .getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(useFile)))
      .map((use) => [use.getName(), checker.getTypeOfSymbol(use)]),
  )
  const seen = new Set()
  const names = entries.flatMap((entry, index) =>
    exportsOf(program, entry).flatMap(({ name, symbol }) => {
      if (seen.has(symbol)) return []
      seen.add(symbol)
      const [declaration] = symbol.declarations
      const file = relative(process.cwd(), declaration.getSourceFile().fileName)
      return [{ name, entry, symbol, declaration, file, type: uses.get(`u${index}_${name}`) }]
    }),
  )
  return { names, checker }
}

/** The summary in the file of an entry. */
export const summaryOf = ({ file }) =>
  /\/\*\*([\s\S]*?)\*\//
    .exec(readFileSync(file, 'utf8'))?.[1]
    .replace(/^\s*\* ?/gm, '')
    .replace(/@module[\s\S]*/, '')
    .trim()
    .replace(/\s+/g, ' ')
