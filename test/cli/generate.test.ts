import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loopback } from '../loopback.ts'
import { folder, statewire } from './spawned.ts'

const env = { STATEWIRE_API_KEY: 'key' }
const cat = Buffer.from('a cat')
const other = Buffer.from('another cat')
const png = (bytes: Buffer) => ({ b64_json: bytes.toString('base64') })

describe('generate', () => {
  it('writes the images of the model after the colon, numbered, in the type that the ending names', async () => {
    const server = await loopback(() => ({ body: { data: [png(cat), png(other)] } }))
    const cwd = await folder()
    const args = ['generate', 'a cat', '-m', 'openai:gpt-image-2', '--base-url', server.url, '-o', 'cat.webp']
    const { code, stdout, stderr } = await statewire(args, { env, cwd })
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(server.requests[0]).toMatchObject({
      path: '/images/generations',
      headers: { authorization: 'Bearer key' },
      body: { model: 'gpt-image-2', prompt: 'a cat', output_format: 'webp' },
    })
    expect(stderr).toContain('cat.webp is written.')
    expect((await readdir(cwd)).toSorted()).toEqual(['cat-2.webp', 'cat.webp'])
    expect(await readFile(join(cwd, 'cat.webp'))).toEqual(cat)
    expect(await readFile(join(cwd, 'cat-2.webp'))).toEqual(other)
  })

  it('gives a pipe the bytes, and says where the type is another one', async () => {
    const server = await loopback(() => ({ body: { data: [png(cat)] } }))
    const args = ['generate', 'a cat', '-m', 'xai', '--base-url', server.url, '-q']
    expect(await statewire(args, { env })).toEqual({ code: 0, stdout: 'a cat', stderr: '' })
    const out = ['generate', 'a cat', '-m', 'xai', '--base-url', server.url, '-o', 'cat.png']
    const { stderr } = await statewire(out, { env, cwd: await folder() })
    expect(stderr).toContain('cat.png is written; it is of the type image/jpeg.')
    expect(server.requests[0]?.body.model).toBe('grok-imagine-image')
  })

  it('changes the images that are attached', async () => {
    const server = await loopback(() => ({ body: { data: [png(other)] } }))
    const cwd = await folder()
    await writeFile(join(cwd, 'cat.png'), cat)
    const args = ['generate', 'asleep', '-m', 'xai', '--base-url', server.url, '-a', 'cat.png', '-o', 'b.jpg']
    expect((await statewire(args, { env, cwd })).code).toBe(0)
    expect(server.requests[0]).toMatchObject({
      path: '/images/edits',
      body: { image: { url: `data:image/png;base64,${cat.toString('base64')}` } },
    })
  })

  it('ends with 2 before anything is sent where something is missing', async () => {
    const cwd = await folder()
    const [model, ending, able] = await Promise.all([
      statewire(['generate', 'a cat', '-o', 'cat.png'], { cwd }),
      statewire(['generate', 'a cat', '-m', 'openai', '-o', 'cat.tiff'], { cwd }),
      statewire(['generate', 'a cat', '-m', 'groq', '-o', 'cat.png'], { cwd }),
    ])
    expect([model.code, ending.code, able.code]).toEqual([2, 2, 2])
    expect(model.stderr).toContain('Name a model that makes images, such as --model openai:gpt-image-2.')
    expect(ending.stderr).toContain('cat.tiff should end in .png')
    expect(able.stderr).toContain('groq does not make media')
    expect(await readdir(cwd)).toEqual([])
  })

  it('says what the provider refused', async () => {
    const server = await loopback(() => ({ status: 400, body: { error: { message: 'Not such a cat.' } } }))
    const args = ['generate', 'a cat', '-m', 'openai', '--base-url', server.url, '-o', 'cat.png']
    const { code, stderr } = await statewire(args, { env, cwd: await folder() })
    expect(code).toBe(1)
    expect(stderr).toContain('Not such a cat.')
  })
})

describe('embed', () => {
  const vectors = () =>
    loopback(({ body: { input } }) => ({
      body: {
        data: (Array.isArray(input) ? input : [input]).map((_, index) => ({
          index,
          embedding: [index, 0.5],
        })),
      },
    }))

  it('prints the vector of a text', async () => {
    const server = await vectors()
    const args = [
      'embed',
      '-m',
      'openai:my-vectors',
      '--base-url',
      server.url,
      '--dimensions',
      '2',
      'the',
      'sea',
    ]
    const { code, stdout, stderr } = await statewire(args, { env })
    expect({ code, stdout }).toEqual({ code: 0, stdout: '[0,0.5]\n' })
    expect(stderr).toContain('Model: openai:my-vectors')
    expect(server.requests[0]?.body).toMatchObject({ model: 'my-vectors', input: ['the sea'], dimensions: 2 })
  })

  it('prints a line for each line that is piped in', async () => {
    const server = await vectors()
    const args = ['embed', '--lines', '-q', '-m', 'lmstudio:my-vectors', '--base-url', server.url]
    const { stdout, stderr } = await statewire(args, { env, input: 'the sea\n\na hill\n' })
    expect({ stdout, stderr }).toEqual({ stdout: '[0,0.5]\n[1,0.5]\n', stderr: '' })
    expect(server.requests[0]?.body.input).toEqual(['the sea', 'a hill'])
  })

  it('takes the provider of STATEWIRE_MODEL, and its own model for vectors', async () => {
    const server = await vectors()
    const named = { ...env, STATEWIRE_MODEL: 'openai:gpt-6-luna' }
    await statewire(['embed', 'the sea', '--base-url', server.url], { env: named })
    expect(server.requests[0]?.body.model).toBe('text-embedding-3-small')
  })
})
