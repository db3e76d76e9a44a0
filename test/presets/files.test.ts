import { describe, expect, it } from 'vitest'
import { Agent, ConfigurationError, dataPart, uploadFile } from '../../src/index.ts'
import { loopback } from '../loopback.ts'
import { helloFrom } from './helloAnswers.ts'

const pdf = dataPart('application/pdf', new Uint8Array([37, 80, 68, 70, 255]), 'a "report".pdf')
const png = dataPart('image/png', new Uint8Array([137, 80, 78, 71]), 'plan.png')

describe('uploadFile', () => {
  it.each([
    ['openai', { id: 'file-1' }, 'openai-file:file-1', '/files'],
    ['anthropic', { id: 'file_1' }, 'anthropic-file:file_1', '/files'],
    [
      'google',
      { file: { uri: 'https://files.example/f1' } },
      'https://files.example/f1',
      '/upload/v1beta/files',
    ],
  ])('gives %s the bytes, and returns a part', async (provider, answer, url, path) => {
    let sent = ''
    let received: { path: string; headers: Headers } | undefined
    const fetcher: typeof fetch = async (input, init) => {
      sent = new TextDecoder('latin1').decode(init?.body as Uint8Array)
      received = { path: new URL(String(input)).pathname, headers: new Headers(init?.headers) }
      return Response.json(answer)
    }
    const part = await uploadFile(`${provider}:some-model`, pdf, {
      apiKey: 'key',
      connection: { fetch: fetcher },
    })
    expect(part).toEqual({ type: 'link', url, mimeType: 'application/pdf', name: 'a "report".pdf' })
    expect(received?.path.endsWith(path)).toBe(true)
    expect(sent).toContain('%PDF\u00ff')
    const [, boundary = ''] = /boundary=(\S+)$/.exec(received?.headers.get('content-type') ?? '') ?? []
    expect(sent.split(`--${boundary}`)).toHaveLength(provider === 'anthropic' ? 3 : 4)
    if (provider === 'anthropic') expect(received?.headers.get('anthropic-beta')).toContain('files-api')
    // The name of a file does not end its header.
    if (provider !== 'google') expect(sent).toContain('filename="a %22report%22.pdf"')
  })

  it('is refused where a provider keeps no files, or the bytes are missing', async () => {
    await expect(uploadFile('groq', pdf)).rejects.toThrow('groq keeps no files')
    await expect(uploadFile('openai', 'report.pdf' as never)).rejects.toBeInstanceOf(ConfigurationError)
  })

  it.each([
    ['openai-responses:gpt-6-luna', 'openai-file:f1', 'image/png', { type: 'input_image', file_id: 'f1' }],
    [
      'openai-responses:gpt-6-luna',
      'openai-file:f1',
      'application/pdf',
      { type: 'input_file', file_id: 'f1' },
    ],
    ['openai-chat:gpt-4.1', 'openai-file:f1', 'application/pdf', { type: 'file', file: { file_id: 'f1' } }],
    [
      'anthropic:claude-sonnet-5-5',
      'anthropic-file:f1',
      'application/pdf',
      { type: 'document', source: { type: 'file', file_id: 'f1' } },
    ],
    [
      'google:gemini-3.8-flash',
      'https://files.example/f1',
      'application/pdf',
      { fileData: { fileUri: 'https://files.example/f1', mimeType: 'application/pdf' } },
    ],
  ])('makes a part that %s takes by its id', async (model, url, mimeType, block) => {
    const server = await loopback(() => ({ body: helloFrom(model.split(':')[0] ?? '') }))
    const agent = new Agent(model, { apiKey: 'key', baseUrl: server.url, cache: 'off' })
    await agent.send('Read it', { attachments: [{ type: 'link', url, mimeType }] })
    const [request] = server.requests
    expect(request?.text).toContain(JSON.stringify(block).slice(1, -1))
    if (model.startsWith('anthropic')) expect(request?.headers['anthropic-beta']).toContain('files-api')
  })

  it('is not read by the model of another provider', async () => {
    const agent = new Agent('anthropic:claude-sonnet-5-5', { apiKey: 'key', baseUrl: 'http://127.0.0.1:1' })
    const attachments = [{ type: 'link' as const, url: 'openai-file:f1', mimeType: 'application/pdf' }]
    await expect(agent.send('Read it', { attachments })).rejects.toThrow(
      'cannot read the link openai-file:f1',
    )
  })
})

describe('generateMedia', () => {
  const image = { data: [{ b64_json: 'AAAA' }], usage: { input_tokens: 3, output_tokens: 5 } }
  const candidates = [
    { content: { parts: [{ text: 'Here' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }] } },
  ]

  it.each([
    ['openai', image, '/images/generations', { prompt: 'A hat', output_format: 'webp' }, 'image/webp'],
    ['xai', image, '/images/generations', { prompt: 'A hat', response_format: 'b64_json' }, 'image/jpeg'],
    [
      'google',
      { candidates },
      '/models/gemini-3.1-flash-image:generateContent',
      { generationConfig: { responseModalities: ['TEXT', 'IMAGE'] } },
      'image/png',
    ],
  ])('makes an image with %s', async (provider, answer, path, body, mimeType) => {
    const server = await loopback(() => ({ body: answer }))
    const agent = new Agent(provider, { apiKey: 'key', baseUrl: server.url })
    const { media } = await agent.generateMedia('A hat', { mimeTypes: ['image/webp'] })
    expect(media).toEqual([{ type: 'data', mimeType, data: 'AAAA' }])
    expect(server.requests[0]).toMatchObject({ path, body })
    const streamed = []
    for await (const part of agent.generateMediaStream('A hat')) streamed.push(part)
    expect(streamed).toHaveLength(1)
  })

  it('edits the images that are attached', async () => {
    const seen: { path: string; body: unknown }[] = []
    const fetcher: typeof fetch = async (input, init) => {
      seen.push({ path: new URL(String(input)).pathname, body: init?.body })
      return Response.json(image)
    }
    for (const provider of ['openai', 'xai']) {
      const agent = new Agent(provider, { apiKey: 'key', connection: { fetch: fetcher } })
      await agent.generateMedia('Bluer', { attachments: [png] })
    }
    expect(seen.map(({ path }) => path)).toEqual(['/v1/images/edits', '/v1/images/edits'])
    const form = new TextDecoder('latin1').decode(seen[0]?.body as Uint8Array)
    expect(form).toContain('name="image[]"; filename="plan.png"')
    expect(form).toContain('\u0089PNG')
    expect(JSON.parse(String(seen[1]?.body))).toMatchObject({
      image: { url: `data:image/png;base64,${png.data}` },
    })
  })

  it('takes the model of `?media=`, and refuses what there is not', async () => {
    const server = await loopback(() => ({ body: image }))
    const agent = new Agent('openai?media=gpt-image-1-mini', { apiKey: 'key', baseUrl: server.url })
    expect((await agent.generateMedia('A hat')).model).toBe('gpt-image-1-mini')
    await expect(agent.generateMedia('A song', { mimeTypes: ['audio/mpeg'] })).rejects.toThrow('audio/mpeg')
    await expect(new Agent('groq').generateMedia('A hat')).rejects.toThrow('groq does not make media')
  })

  it('fails where the model made no image', async () => {
    const server = await loopback(() => ({ body: { candidates: [{ finishReason: 'IMAGE_SAFETY' }] } }))
    const agent = new Agent('google', { apiKey: 'key', baseUrl: server.url })
    await expect(agent.generateMedia('A hat')).rejects.toThrow('made no image (IMAGE_SAFETY)')
  })
})
