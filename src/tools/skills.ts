import type { Dirent } from 'node:fs'
import { ConfigurationError, describeThrown } from '../messages/errors.ts'
import { type Tool, tool } from './tool.ts'

// Agent Skills: folders with a SKILL.md, whose front matter has a name and a description. The model sees those, and
// loads the text and the other files of a folder when a task needs them. Nothing outside of a folder is ever read.

/** The skills of a folder: the text for the system prompt, and the tool that loads them. */
export type Skills = { list: string; tool: Tool }

type Skill = { name: string; description: string; folder: string }

type Files = {
  fs: typeof import('node:fs')
  path: typeof import('node:path')
}

/** The name of the tool that loads a skill. */
const skillToolName = 'load_skill'

const longestFile = 1_048_576
const longestName = 64
const longestDescription = 1024
const mostSkills = 500
const mostFiles = 100

/** Reads the skills of a folder. A folder that cannot be used is an error that says what to change. */
export const readSkills = (root: string): Skills => {
  const files = fileSystem()
  const skills = skillsIn(root, files)
  const list = [
    `You have skills: instructions for certain tasks. If a task fits one, load it with ${skillToolName} before you begin.`,
    ...skills.map(({ name, description }) => `- ${name}: ${description}`),
  ].join('\n')
  return { list, tool: skillTool(new Map(skills.map((skill) => [skill.name, skill])), files) }
}

/** The file system, without an import that a browser would have to load. */
const fileSystem = (): Files => {
  const { process }: { process?: Pick<NodeJS.Process, 'getBuiltinModule'> } = globalThis
  if (typeof process?.getBuiltinModule !== 'function')
    throw new ConfigurationError('skills reads a folder, which needs Node.js: a browser has no file system.')
  return { fs: process.getBuiltinModule('node:fs'), path: process.getBuiltinModule('node:path') }
}

const skillsIn = (root: string, { fs, path }: Files): Skill[] => {
  let entries: Dirent[]
  try {
    entries = fs.readdirSync(root, { withFileTypes: true })
  } catch (cause) {
    throw new ConfigurationError(`skills must be a folder that can be read: ${describeThrown(cause)}`, {
      cause,
    })
  }
  const folders = entries
    .filter((entry) => entry.isDirectory() && fs.existsSync(path.join(root, entry.name, 'SKILL.md')))
    .map(({ name }) => name)
    .sort()
  if (folders.length === 0 || folders.length > mostSkills)
    throw new ConfigurationError(
      `skills must be a folder with 1 to ${mostSkills} folders that have a SKILL.md; "${root}" has ${folders.length}.`,
    )
  return folders.map((name) => {
    const folder = fs.realpathSync(path.join(root, name))
    const place = path.join(root, name, 'SKILL.md')
    try {
      return { ...headerOf(readFile(folder, 'SKILL.md', { fs, path }), name), folder }
    } catch (thrown) {
      throw new ConfigurationError(`${place} is not a skill: ${describeThrown(thrown)}`, { cause: thrown })
    }
  })
}

/** The name and the description of a skill, as the specification limits them. */
const headerOf = (text: string, folder: string): Omit<Skill, 'folder'> => {
  const fields = frontMatter(text)
  const name = (fields.get('name') ?? '').normalize('NFKC')
  const description = (fields.get('description') ?? '').replace(/\s+/g, ' ').trim()
  if (name === '') throw new TypeError('its front matter has no name.')
  if (
    name.length > longestName ||
    name !== name.toLowerCase() ||
    !/^[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*$/u.test(name)
  )
    throw new TypeError(
      `the name "${name.slice(0, 80)}" must be 1 to ${longestName} lowercase letters, digits and single hyphens.`,
    )
  if (name !== folder.normalize('NFKC'))
    throw new TypeError(`its name is "${name}", but its folder is "${folder}".`)
  if (description === '' || description.length > longestDescription)
    throw new TypeError(
      `its description must have 1 to ${longestDescription} characters, not ${description.length}.`,
    )
  return { name, description }
}

const bounds = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/

/**
 * The fields of a front matter whose values are texts: plain, in quotes, or in a block (`|`, `>`), also over several lines.
 * Lists and maps, which no field that is used here has, are skipped.
 */
const frontMatter = (text: string): Map<string, string> => {
  const [, yaml] = bounds.exec(text) ?? []
  if (yaml === undefined) throw new TypeError('it must begin with front matter between two lines of ---.')
  const fields = new Map<string, string>()
  let key: string | undefined
  let lines: string[] = []
  const end = () => {
    if (key !== undefined) fields.set(key, scalar(lines))
  }
  for (const line of yaml.split(/\r?\n/)) {
    const [, name, value = ''] = /^([A-Za-z][\w-]*):(?:[ \t]+(.*))?$/.exec(line) ?? []
    if (name !== undefined) {
      end()
      key = name
      lines = [value.trim()]
    } else if (!line.trimStart().startsWith('#') || /^[|>]/.test(lines[0] ?? '')) lines.push(line.trim())
  }
  end()
  return fields
}

const scalar = ([first = '', ...rest]: readonly string[]): string => {
  if (/^[|>][+-]?\d?$/.test(first)) return rest.join(first.startsWith('|') ? '\n' : ' ').trim()
  const whole = [first, ...rest].join(' ').trim()
  const [, double, single] = /^(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)')\s*(?:#.*)?$/.exec(whole) ?? []
  if (double !== undefined) return double.replace(/\\(["\\/])/g, '$1').replace(/\\n/g, '\n')
  return single?.replaceAll("''", "'") ?? whole.replace(/\s+#.*$/, '')
}

/** Reads a file of a folder as text. A path that leads out of the folder, through `..` or a link, is refused. */
const readFile = (folder: string, file: string, { fs, path }: Files): string => {
  const real = fs.realpathSync(path.join(folder, file))
  if (!real.startsWith(folder + path.sep)) throw new TypeError(`"${file}" is not in the folder of the skill.`)
  // A pipe or a device would never end.
  const { size } = regular(fs.lstatSync(real), file)
  if (size > longestFile) throw new TypeError(`"${file}" has more than ${longestFile} bytes.`)
  // The file may have been replaced by a link since.
  const opened = fs.openSync(real, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK)
  try {
    regular(fs.fstatSync(opened), file)
    const bytes = new Uint8Array(size)
    const read = bytes.subarray(0, fs.readSync(opened, bytes, 0, size, 0))
    if (read.includes(0)) throw new TypeError(`"${file}" is not a text file.`)
    return new TextDecoder().decode(read)
  } finally {
    fs.closeSync(opened)
  }
}

const regular = <Stats extends { isFile(): boolean }>(stats: Stats, file: string): Stats => {
  if (!stats.isFile()) throw new TypeError(`"${file}" is not a file.`)
  return stats
}

const skillTool = (skills: ReadonlyMap<string, Skill>, files: Files): Tool =>
  tool({
    name: skillToolName,
    description:
      'Loads the instructions of a skill, with a list of its files; or, with `file`, one of these files.',
    input: {
      jsonSchema: {
        type: 'object',
        properties: {
          name: { type: 'string', description: 'The name of the skill.' },
          file: { type: 'string', description: 'The path of a file in the folder of the skill.' },
        },
        required: ['name'],
        additionalProperties: false,
      },
    },
    execute: (args) => {
      const { name, file }: { name?: unknown; file?: unknown } = Object(args)
      const skill = skills.get(String(name))
      if (!skill)
        throw new TypeError(`There is no skill "${String(name)}". Skills: ${[...skills.keys()].join(', ')}.`)
      try {
        return typeof file === 'string' && file !== ''
          ? readFile(skill.folder, file, files)
          : instructionsOf(skill, files)
      } catch (thrown) {
        throw new TypeError(`The file cannot be read: ${withoutPlace(describeThrown(thrown), skill)}`)
      }
    },
    repeatable: true,
    onInterrupted: 'rerun',
  })

/** The model does not learn where the folder is. */
const withoutPlace = (text: string, { folder, name }: Skill): string => text.replaceAll(folder, name)

const instructionsOf = ({ folder }: Skill, files: Files): string => {
  const text = readFile(folder, 'SKILL.md', files).replace(bounds, '').trim()
  const others = filesIn(folder, files)
  return others.length === 0
    ? text
    : `${text}\n\nFiles of this skill:\n${others.map((file) => `- ${file}`).join('\n')}`
}

/** The files of a folder and of the folders in it, without links. */
const filesIn = (folder: string, { fs, path }: Files): string[] => {
  const found: string[] = []
  const folders = ['']
  for (let next = folders.shift(); next !== undefined && found.length < mostFiles; next = folders.shift()) {
    for (const entry of fs.readdirSync(path.join(folder, next), { withFileTypes: true })) {
      const place = next === '' ? entry.name : `${next}/${entry.name}`
      if (entry.isDirectory() && !entry.name.startsWith('.')) folders.push(place)
      else if (entry.isFile() && place !== 'SKILL.md') found.push(place)
    }
  }
  return found.sort().slice(0, mostFiles)
}
