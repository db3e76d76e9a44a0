import { describe, expect, it } from 'vitest'
import { Agent, ConfigurationError, dataPart, uploadFile } from '../../src/index.ts'
import { loopback } from '../loopback.ts'
import { type RawServer, rawServer } from '../transport/rawServer.ts'
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

/** A draft of an image, as OpenAI sends it. */
const draft = `event: image_generation.partial_image\ndata: ${JSON.stringify({ type: 'image_generation.partial_image', b64_json: 'AAAA' })}\n\n`

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
    const form = Buffer.from(seen[0]?.body as Uint8Array).toString('latin1')
    expect(form).toContain('name="image[]"; filename="plan.png"')
    expect(form).toContain('\u0089PNG')
    expect(JSON.parse(String(seen[1]?.body))).toMatchObject({
      image: { url: `data:image/png;base64,${png.data}` },
    })
  })

  describe('as a stream', () => {
    const event = (name: string, fields: object) =>
      `event: ${name}\ndata: ${JSON.stringify({ type: name, ...fields })}\n\n`
    const partsOf = async (agent: Agent, options: object = {}) => {
      const parts = []
      for await (const part of agent.generateMediaStream('A hat', options)) parts.push(part)
      return parts
    }

    /** A server that sends its events one at a time: the next when `release` is called. */
    const steppedServer = (events: readonly string[]) => {
      const waiting = [...events]
      let send = (_: string | undefined): void => {}
      const fetcher: typeof fetch = async () => {
        const body = new ReadableStream<Uint8Array>({
          start(controller) {
            send = (text) =>
              text === undefined ? controller.close() : controller.enqueue(new TextEncoder().encode(text))
            send(waiting.shift())
          },
        })
        return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
      }
      return { fetcher, release: () => send(waiting.shift()) }
    }

    it('yields the drafts of OpenAI as they arrive, and then the image', async () => {
      const draftOf = (b64_json: string, partial_image_index: number) =>
        event('image_generation.partial_image', { b64_json, partial_image_index, output_format: 'png' })
      const whole = { b64_json: 'AAAC', output_format: 'png', usage: { total_tokens: 3 } }
      const { fetcher, release } = steppedServer([
        draftOf('AAAA', 0),
        draftOf('AAAB', 1),
        event('image_generation.completed', whole),
      ])
      const agent = new Agent('openai', { apiKey: 'key', connection: { fetch: fetcher } })
      const stream = agent.generateMediaStream('A hat')
      const draft = { type: 'data', mimeType: 'image/png', isPartial: true }
      // Nothing more is sent before each of them was seen.
      expect((await stream.next()).value).toEqual({ ...draft, data: 'AAAA' })
      release()
      expect((await stream.next()).value).toEqual({ ...draft, data: 'AAAB' })
      release()
      expect((await stream.next()).value).toEqual({ type: 'data', mimeType: 'image/png', data: 'AAAC' })
      release()
      expect(await stream.next()).toEqual({ done: true, value: undefined })
    })

    it('asks OpenAI for drafts, also of an edit, and for as many as were wished', async () => {
      const seen: { path: string; body: string }[] = []
      const fetcher: typeof fetch = async (input, init) => {
        const given = init?.body
        const body = typeof given === 'string' ? given : new TextDecoder().decode(given as Uint8Array)
        seen.push({ path: new URL(String(input)).pathname, body })
        return new Response(event('image_edit.completed', { b64_json: 'AAAA' }), {
          headers: { 'content-type': 'text/event-stream' },
        })
      }
      const agent = new Agent('openai', { apiKey: 'key', connection: { fetch: fetcher } })
      expect(await partsOf(agent)).toEqual([{ type: 'data', mimeType: 'image/png', data: 'AAAA' }])
      expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject({ stream: true, partial_images: 2 })
      await partsOf(agent, { attachments: [png], partialImages: 0 })
      expect(seen[1]?.path).toBe('/v1/images/edits')
      expect(seen[1]?.body).toMatch(/name="partial_images"\r\n\r\n0\r\n/)
    })

    it('yields the images of Gemini, with its drafts', async () => {
      const chunk = (part: object, finishReason?: string) =>
        `data: ${JSON.stringify({ candidates: [{ content: { parts: [part] }, finishReason }] })}\n\n`
      const inlineData = { mimeType: 'image/png', data: 'AAAA' }
      const chunks = [
        chunk({ text: 'Here' }),
        chunk({ inlineData, thought: true }),
        chunk({ inlineData }, 'STOP'),
      ]
      const server = await loopback(() => ({ body: chunks.join('') }))
      const parts = await partsOf(new Agent('google', { apiKey: 'key', baseUrl: server.url }))
      expect(parts.map(({ isPartial }) => isPartial)).toEqual([true, undefined])
      expect(server.requests[0]?.path).toBe('/models/gemini-3.1-flash-image:streamGenerateContent?alt=sse')
    })

    it('fails with the words of the provider, and where no whole image came', async () => {
      const drafts = event('image_generation.partial_image', { b64_json: 'AAAA' })
      const error = { message: 'Not with key-secret-123.', code: 'moderation_blocked' }
      const bodies = [`${drafts}${event('error', { error })}`, drafts]
      const server = await loopback((_, nth) => ({ body: bodies[nth] ?? '' }))
      const agent = new Agent('openai', { apiKey: 'key-secret-123', baseUrl: server.url })
      await expect(partsOf(agent)).rejects.toMatchObject({
        provider: 'openai',
        code: 'moderation_blocked',
        message: 'Not with ***.',
      })
      await expect(partsOf(agent)).rejects.toMatchObject({ code: 'no_media' })
    })

    it('tries again what failed before the first event, and says what a server refused', async () => {
      const done = event('image_generation.completed', { b64_json: 'AAAA' })
      const server = await loopback((_, nth) => (nth === 0 ? { status: 503, body: {} } : { body: done }))
      const retry = { initialDelayMs: 1, maxDelayMs: 1 }
      const agent = new Agent('openai', { apiKey: 'key', baseUrl: server.url, retry })
      expect(await partsOf(agent)).toHaveLength(1)
      const refusing = await loopback(() => ({ status: 400, body: { error: { message: 'No such size.' } } }))
      const refused = new Agent('openai', { apiKey: 'key', baseUrl: refusing.url })
      await expect(partsOf(refused)).rejects.toMatchObject({
        status: 400,
        message: expect.stringContaining('No such size.'),
      })
    })

    it('closes the connection where the loop is left, and ends where it is aborted', async () => {
      let cancelled = 0
      const fetcher: typeof fetch = async () => {
        const body = new ReadableStream<Uint8Array>({
          start: (controller) => controller.enqueue(new TextEncoder().encode(draft)),
          cancel: () => void cancelled++,
        })
        return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
      }
      const agent = new Agent('openai', { apiKey: 'key', connection: { fetch: fetcher } })
      for await (const _ of agent.generateMediaStream('A hat')) break
      await expect.poll(() => cancelled).toBe(1)
      const stop = new AbortController()
      const stream = agent.generateMediaStream('A hat', { signal: stop.signal })
      await stream.next()
      const next = stream.next()
      stop.abort()
      await expect(next).rejects.toMatchObject({ name: 'AbortedError' })
      await expect.poll(() => cancelled).toBe(2)
    })
  })

  describe('with timeouts.totalMs', () => {
    const late = { name: 'TimeoutError', message: expect.stringContaining('timeouts.totalMs') }
    const imagesOf = (url: string) =>
      new Agent('openai', { apiKey: 'key', baseUrl: url, timeouts: { totalMs: 300 } }).generateMediaStream(
        'A hat',
      )
    // On a slow machine the time may be over before there is a connection.
    const allClosed = ({ sockets, closed }: RawServer) => Promise.all(sockets.map((_, nth) => closed(nth)))

    it('ends a stream whose pieces keep coming, and leaves nothing open', async () => {
      const server = await rawServer(({ socket }) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n')
        const beat = setInterval(() => socket.write(draft), 5)
        socket.once('close', () => clearInterval(beat))
      })
      const all = (async () => {
        for await (const { isPartial } of imagesOf(server.url)) expect(isPartial).toBe(true)
      })()
      await expect(all).rejects.toMatchObject(late)
      await allClosed(server)
    })

    it('ends a stream that its reader does not ask for more', async () => {
      const server = await rawServer(({ socket }) =>
        socket.write(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n${draft}`),
      )
      const images = imagesOf(server.url)
      const [first] = await Promise.allSettled([images.next()])
      await allClosed(server)
      if (first.status === 'fulfilled') await expect(images.next()).rejects.toMatchObject(late)
      else expect(first.reason).toMatchObject(late)
    })

    it('ends a stream that has not begun', async () => {
      const server = await rawServer(() => {})
      await expect(imagesOf(server.url).next()).rejects.toMatchObject(late)
      await allClosed(server)
    })
  })

  it('closes a stream that is aborted between two images at once', async () => {
    const server = await rawServer(({ socket }) =>
      socket.write(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n${draft}`),
    )
    const stop = new AbortController()
    const agent = new Agent('openai', { apiKey: 'key', baseUrl: server.url })
    const images = agent.generateMediaStream('A hat', { signal: stop.signal })
    await images.next()
    stop.abort()
    await server.closed()
    await expect(images.next()).rejects.toMatchObject({ name: 'AbortedError' })
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
