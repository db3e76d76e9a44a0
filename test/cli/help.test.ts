import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { commands, helpOf, overview } from '../../src/cli/commands/index.ts'
import { paintFor, printable, wantsColour } from '../../src/cli/terminalText.ts'
import { nearest } from '../../src/messages/optionNames.ts'
import { statewire } from './spawned.ts'

const plain = paintFor(false)

describe.each(commands)('$name --help', (command) => {
  const help = helpOf(command, plain)

  it('names every option, and fits on a narrow terminal', () => {
    for (const option of Object.keys(command.options)) expect(help).toContain(`--${option}`)
    expect(help).toContain(`statewire ${command.name}`)
    expect(help.split('\n').filter((line) => line.length > 80)).toEqual([])
  })
})

it('lists the commands with --help, with help, and without anything', async () => {
  const whole = `${overview(plain)}\n`
  const [flag, word, nothing, one] = await Promise.all([
    statewire(['--help']),
    statewire(['help']),
    statewire([]),
    statewire(['run', '--help']),
  ])
  expect([flag, word, nothing]).toEqual(Array(3).fill({ code: 0, stdout: whole, stderr: '' }))
  expect(one.stdout).toBe(`${helpOf(commands.find(({ name }) => name === 'run') ?? expect.fail(), plain)}\n`)
  for (const { name } of commands) expect(whole).toContain(`  ${name} `)
  expect(whole.split('\n').filter((line) => line.length > 80)).toEqual([])
})

it('prints its version', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  const shown = await Promise.all([statewire(['--version']), statewire(['-v'])])
  expect(shown.map(({ stdout }) => stdout)).toEqual(Array(2).fill(`${version}\n`))
})

it('ends with 2 on what it does not know, and says what was probably meant', async () => {
  const [command, option, value] = await Promise.all([
    statewire(['isnpect']),
    statewire(['run', '--modle', 'x', 'Hi']),
    statewire(['run', '--model']),
  ])
  expect([command.code, option.code, value.code]).toEqual([2, 2, 2])
  expect(command.stderr).toContain('There is no command "isnpect". Did you mean "inspect"?')
  expect(option.stderr).toContain("Unknown option '--modle'. Did you mean --model?")
  expect(value.stderr).toContain('argument missing')
})

it('says where a key, tools and a store come from instead', async () => {
  const advised = async (option: string) => (await statewire(['run', option, 'x', 'Hi'])).stderr
  expect(await Promise.all(['--api-key', '--tools', '--db'].map(advised))).toEqual([
    expect.stringContaining('Keys come from the environment: statewire doctor lists their variables.'),
    expect.stringContaining('Name a file that exports an agent with tools: statewire run agent.mjs.'),
    expect.stringContaining('Stored runs are for statewire chat, runs and inspect.'),
  ])
})

it('suggests only what is near', () => {
  const names = ['chat', 'run', 'inspect', 'graph', 'models', 'doctor']
  expect(['rnu', 'grahp', 'model', 'DOCTOR', 'cat'].map((typed) => nearest(typed, names))).toEqual([
    'run',
    'graph',
    'models',
    'doctor',
    'chat',
  ])
  expect(nearest('explain', names)).toBeUndefined()
})

it('colours for terminals, with FORCE_COLOR before NO_COLOR', () => {
  const terminal = { isTTY: true }
  expect(wantsColour(terminal, {})).toBe(true)
  expect(wantsColour({}, {})).toBe(false)
  expect(wantsColour(terminal, { NO_COLOR: '1' })).toBe(false)
  expect(wantsColour(terminal, { NO_COLOR: '' })).toBe(true)
  expect(wantsColour(terminal, { TERM: 'dumb' })).toBe(false)
  expect(wantsColour({}, { FORCE_COLOR: '1', NO_COLOR: '1' })).toBe(true)
  expect(wantsColour(terminal, { FORCE_COLOR: '0' })).toBe(false)
})

it('keeps lines and tabs of a text, and drops what would steer a terminal', () => {
  expect(printable('a\tb\nc\u001b[31m\u0007\u009b2J\r\u0000d')).toBe('a\tb\nc[31m2Jd')
  expect(printable('pay \u202e001\u202c \u2066x\u2069')).toBe('pay 001 x')
})
