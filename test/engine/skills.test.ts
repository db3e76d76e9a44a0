/** Agent Skills: names and descriptions in the prompt, texts and files on demand, and nothing outside of their folders. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { textOf, toolResultsOf } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { weather } from './sampleTools.ts'

let root = ''
let skills = ''

const write = (path: string, text: string): void => {
  mkdirSync(join(skills, path, '..'), { recursive: true })
  writeFileSync(join(skills, path), text)
}

const header = (name: string, description = 'Does something.') =>
  `---\nname: ${name}\ndescription: ${description}\n---\n`

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'skills-'))
  skills = join(root, 'skills')
  mkdirSync(skills)
  writeFileSync(join(root, 'secret.txt'), 'The secret.')
})
afterEach(() => rmSync(root, { recursive: true }))

const load = async (args: JsonObject) => {
  const model = scriptedModel([[{ toolCall: { id: 'a', name: 'load_skill', arguments: args } }], 'Done.'])
  const { messages } = await new Agent(model, { skills }).send('Go')
  const [result] = messages.flatMap(toolResultsOf)
  return result
}

it('the prompt lists them, below any system prompt, and a tool loads one', async () => {
  write('pdf-forms/SKILL.md', `${header('pdf-forms', 'Fills forms. Use it for PDF.')}\n# Forms\nFill them.\n`)
  write('pdf-forms/references/fields.md', 'The fields.')
  write('notes/SKILL.md', header('notes'))
  write('no-skill/README.md', 'Nothing.')
  const model = scriptedModel(['A', 'B', 'C'])
  const agent = new Agent(model, { skills, system: 'Be brief.' })
  await agent.send('1')
  await agent.send('2', { system: 'Be kind.', tools: [weather] })
  await agent.send('3')
  const prompts = model.requests.map(({ messages }) => textOf(messages[0] ?? { role: 'system', parts: [] }))
  const list = '- notes: Does something.\n- pdf-forms: Fills forms. Use it for PDF.'
  expect(prompts[0]).toMatch(/^Be brief\.\n\nYou have skills/)
  expect(prompts[1]).toMatch(/^Be kind\.\n\nYou have skills/)
  expect(prompts.every((prompt) => prompt.endsWith(list))).toBe(true)
  expect(model.requests.map(({ tools }) => tools?.map(({ name }) => name))).toEqual([
    ['load_skill'],
    ['get_weather', 'load_skill'],
    ['load_skill'],
  ])
  expect((await load({ name: 'pdf-forms' }))?.result).toBe(
    '# Forms\nFill them.\n\nFiles of this skill:\n- references/fields.md',
  )
  expect((await load({ name: 'pdf-forms', file: 'references/fields.md' }))?.result).toBe('The fields.')
  expect((await load({ name: 'none' }))?.result).toContain('There is no skill')
})

describe('what is outside of a folder is not read', () => {
  beforeEach(() => {
    write('one/SKILL.md', header('one'))
    write('two/SKILL.md', header('two'))
    symlinkSync(join(root, 'secret.txt'), join(skills, 'one', 'link.txt'))
    symlinkSync(root, join(skills, 'one', 'up'))
    writeFileSync(join(skills, 'one', 'data.bin'), Buffer.from([1, 0, 2]))
    writeFileSync(join(skills, 'one', 'long.txt'), 'x'.repeat(1_048_577))
  })

  it.each([
    '../../secret.txt',
    '../two/SKILL.md',
    'link.txt',
    'up/secret.txt',
    '.',
    'data.bin',
    'long.txt',
    'missing.txt',
  ])('%s', async (file) => {
    const result = await load({ name: 'one', file })
    expect(result?.isError).toBe(true)
    expect(result?.result).not.toContain('The secret.')
    expect(result?.result).not.toContain(root)
  })

  it('a file with an absolute path is looked for in the folder', async () => {
    expect((await load({ name: 'one', file: join(root, 'secret.txt') }))?.isError).toBe(true)
  })

  it('a SKILL.md that is a link out of its folder is refused', () => {
    mkdirSync(join(skills, 'three'))
    symlinkSync(join(root, 'secret.txt'), join(skills, 'three', 'SKILL.md'))
    expect(() => new Agent(scriptedModel([]), { skills })).toThrow('is not in the folder')
  })
})

describe('the front matter', () => {
  it.each([
    ['in quotes', `name: "a"\ndescription: 'It''s: "so".'`, `It's: "so".`],
    ['folded', 'name: a\ndescription: >-\n  One\n  two.\nlicense: MIT', 'One two.'],
    [
      'over lines, with comments and maps',
      'name: a # yes\n# no\ndescription: One\n  two.\nmetadata:\n  a: b',
      'One two.',
    ],
  ])('is read: %s', async (_, yaml, description) => {
    write('a/SKILL.md', `---\n${yaml}\n---\nText`)
    const model = scriptedModel(['A'])
    await new Agent(model, { skills }).send('1')
    expect(JSON.stringify(model.requests[0]?.messages[0])).toContain(
      JSON.stringify(`- a: ${description}`).slice(1, -1),
    )
  })

  it.each([
    ['without front matter', 'Text', 'must begin with front matter'],
    ['without a name', '---\ndescription: x\n---\n', 'has no name'],
    ['without a description', '---\nname: a\n---\n', 'description must have 1 to 1024'],
    ['a long description', header('a', 'x'.repeat(1025)), 'not 1025'],
    ['another name than its folder', header('b'), 'its folder is "a"'],
    ['a name in capitals', header('A'), 'lowercase'],
    ['a name with two hyphens', header('a--b'), 'single hyphens'],
    ['a long name', header('a'.repeat(65)), '1 to 64'],
  ])('is refused: %s', (_, text, problem) => {
    write('a/SKILL.md', text)
    expect(() => new Agent(scriptedModel([]), { skills })).toThrow(problem)
  })

  it('a folder that is not there, or has no skills, is refused', () => {
    expect(() => new Agent(scriptedModel([]), { skills })).toThrow('has 0')
    expect(() => new Agent(scriptedModel([]), { skills: join(root, 'none') })).toThrow('can be read')
  })
})
