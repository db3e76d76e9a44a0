// What the options of `run` and `chat` make of a request, and what is said about those that do not fit.
import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { shellWords } from '../../src/cli/chooseAgent.ts'
import { loopback } from '../loopback.ts'
import { everything, everythingOnPort, filesystem } from '../mcp/servers.ts'
import { askSimulator, folder, statewire } from './spawned.ts'

const said = (text: string) =>
  `data: ${JSON.stringify({ choices: [{ delta: { content: text }, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`

/** A model that answers with these texts, one after the other. */
const model = async (...texts: string[]) => {
  const { url, requests } = await loopback((_, nth) => ({ body: said(texts[nth] ?? 'Well.') }))
  return { requests, args: ['--model', 'openai:gpt-4o', '--base-url', url, '--no-tools'] }
}

it('sends the system prompt and the temperature, and says nothing else with -q', async () => {
  const { args, requests } = await model()
  const end = await statewire(['run', '-q', '-s', 'Be brief.', '-t', '0.2', ...args, 'Hi'])
  expect(end).toEqual({ code: 0, stdout: 'Well.\n', stderr: '' })
  expect(requests[0]?.body).toMatchObject({
    temperature: 0.2,
    messages: [{ content: 'Be brief.' }, { role: 'user', content: 'Hi' }],
  })
  const chat = await statewire(['chat', '-q', ...args], { input: 'Hi\n' })
  expect(chat).toEqual({ code: 0, stdout: 'Well.\n', stderr: '' })
})

it('attaches files and links to the prompt, in chat to the first one', async () => {
  const cwd = await folder()
  const png = Buffer.from([0x89, 0x50, 0x4e, 0x47])
  await writeFile(join(cwd, 'pixel.png'), png)
  await writeFile(join(cwd, 'notes.txt'), 'Buy milk.')
  const { args, requests } = await model()
  const files = ['-a', 'pixel.png', '--attach', 'notes.txt', '-a', 'https://example.com/cat.jpg']
  await statewire(['run', ...args, ...files, 'What is this?'], { cwd })
  await statewire(['chat', ...args, '-a', 'notes.txt'], { cwd, input: 'One\nTwo\n' })
  const contents = requests.map(({ body }) => Array.isArray(body.messages) && body.messages.at(-1))
  expect(contents[0]).toMatchObject({
    content: [
      { text: 'What is this?' },
      { image_url: { url: `data:image/png;base64,${png.toString('base64')}` } },
      { text: 'notes.txt:\n\nBuy milk.' },
      { image_url: { url: 'https://example.com/cat.jpg' } },
    ],
  })
  expect(JSON.stringify(contents[1])).toContain('Buy milk.')
  expect(contents[2]).toMatchObject({ content: 'Two' })
})

it('answers in JSON that fits the schema, and writes only what was valid in the end', async () => {
  const cwd = await folder()
  const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
  // As an editor on Windows may save it.
  await writeFile(
    join(cwd, 'schema.json'),
    `\uFEFF${JSON.stringify(schema, null, 2).replaceAll('\n', '\r\n')}`,
  )
  const { args } = await model('{"n":"four"}', '{"n":4}', '{"n":5}')
  const corrected = await statewire(['run', ...args, '--schema', 'schema.json', '2+2?'], { cwd })
  expect([corrected.code, corrected.stdout]).toEqual([0, '{"n":4}\n'])
  const inline = await statewire(['run', ...args, '--schema', JSON.stringify(schema), '2+3?'], { cwd })
  expect([inline.code, inline.stdout]).toEqual([0, '{"n":5}\n'])
  const hopeless = await model('no', 'still no')
  const failed = await statewire(['run', ...hopeless.args, '--schema', 'schema.json', '2+2?'], { cwd })
  expect([failed.code, failed.stdout]).toEqual([1, ''])
  expect(failed.stderr).toContain('does not fit the schema')
})

describe('--mcp', () => {
  it('offers the tools of a command and of a URL, and leaves no server behind', async () => {
    const cwd = await folder()
    await writeFile(join(cwd, 'todo.txt'), 'buy milk')
    const { command, args } = filesystem(cwd)
    const simulator = await askSimulator()
    const started = `"${command}" ${args.map((each) => `'${each}'`).join(' ')}`
    const own = await statewire(
      ['run', '--no-tools', '--approve', ...simulator, '--mcp', started, 'Read the text file todo.txt'],
      { cwd },
    )
    expect(own.stdout).toContain('buy milk')
    expect(programsNaming(cwd)).toEqual([])
    const { url } = await everythingOnPort('streamableHttp')
    const web = await statewire([
      'run',
      '-v',
      '--approve',
      ...simulator,
      '--mcp',
      url,
      'Echo the message hello',
    ])
    expect(web.stderr).toContain('echo →')
    expect(web.code).toBe(0)
  })

  it('says which server cannot be used, and closes the others', async () => {
    const marker = await folder()
    const good = [everything.command, ...everything.args, marker].join(' ')
    const [missing, nothing, open] = [
      await statewire(['run', '--mcp', good, '--mcp', 'no-such-program', 'Hi']),
      await statewire(['run', '--mcp', ' ', 'Hi']),
      await statewire(['run', '--mcp', 'node "server', 'Hi']),
    ]
    expect([missing.code, nothing.code, open.code]).toEqual([2, 2, 2])
    expect(missing.stderr).toContain('--mcp: The MCP server "no-such-program" cannot be connected to')
    expect(nothing.stderr).toContain('--mcp needs a URL, or a command such as')
    expect(open.stderr).toContain('--mcp: a " is not closed in: node "server')
    expect(programsNaming(marker)).toEqual([])
  })
})

/** The programs that run and have this among their arguments. */
const programsNaming = (argument: string): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((id) => {
      try {
        const line = readFileSync(`/proc/${id}/cmdline`, 'utf8')
        return line.includes(argument) ? [line.replaceAll('\0', ' ')] : []
      } catch {
        return []
      }
    })

it('speaks of its own options when something is wrong with them', async () => {
  const cwd = await folder()
  await writeFile(join(cwd, 'data.bin'), Buffer.from([0, 1, 2]))
  await writeFile(join(cwd, 'schema.json'), '[]')
  const problem = async (...args: string[]) => {
    const { code, stderr } = await statewire(['run', '-q', ...args, 'Hi'], { cwd })
    return `${code} ${stderr.trim().replace('statewire: ', '')}`
  }
  const { url } = await loopback(() => ({ status: 401, body: { error: { message: 'Who are you?' } } }))
  expect(await problem('--base-url', 'here')).toMatch(/^2 --base-url must be an absolute/)
  expect(await problem('--temperature', 'hot')).toBe(
    '2 --temperature takes a number that is not negative, not "hot".',
  )
  expect(await problem('-a', 'none.png')).toBe('2 --attach: there is no file none.png.')
  expect(await problem('-a', 'data.bin')).toMatch(/^2 --attach: data\.bin is not a text file, and not one of/)
  expect(await problem('--schema', 'none.json')).toBe('2 --schema: there is no file none.json.')
  expect(await problem('--schema', 'schema.json')).toMatch(/^2 --schema schema\.json cannot be used/)
  expect(await problem('--schema', '{"type": 3')).toMatch(/^2 --schema cannot be used/)
  const keyless = await problem('--model', 'openai:x', '--base-url', url)
  expect(keyless).toContain('No key was sent: set STATEWIRE_API_KEY.')
  expect(keyless).not.toContain('apiKey')
})

it('splits a command as a shell does, and gives nothing else a meaning', () => {
  expect(shellWords(`npx  -y 'a b'"c d" e\\ f "g\\"h" $HOME;rm ''`)).toEqual([
    'npx',
    '-y',
    'a bc d',
    'e f',
    'g"h',
    '$HOME;rm',
    '',
  ])
  expect(shellWords('  ')).toEqual([])
})
