/** A file is the same file to every protocol: read by what it is, written as the API takes it, or refused by name. */
import { describe, expect, it } from 'vitest'
import { attachedFile } from '../../../providers/wire/attachedFile.ts'
import { ConfigurationError } from '../../../src/messages/errors.ts'
import {
  type DataPart,
  dataPart,
  type LinkPart,
  linkPart,
  userMessage,
} from '../../../src/messages/messages.ts'
import { everyProtocol, type ProtocolName, protocolNames } from '../everyProtocol.ts'

const everything = { attachments: { images: true, pdf: true, audio: true, video: true, links: true } }
const docx = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'
const svg = '<svg xmlns="http://www.w3.org/2000/svg"/>'

type Row = [what: string, part: DataPart | LinkPart, expected: Record<ProtocolName, RegExp | 'refused'>]

const image = {
  anthropic: /"type":"image","source":\{"type":"base64","media_type":"image\/png","data":"AAAA"\}/,
  'openai-chat': /"image_url":\{"url":"data:image\/png;base64,AAAA"\}/,
  'openai-responses': /"input_image","image_url":"data:image\/png;base64,AAAA"/,
  google: /"inlineData":\{"mimeType":"image\/png","data":"AAAA"\}/,
  mistral: /"image_url":"data:image\/png;base64,AAAA"/,
  cohere: /"image_url":\{"url":"data:image\/png;base64,AAAA"\}/,
  ollama: /"images":\["AAAA"\]/,
}
const textSaying = (text: string): Row[2] => {
  const words = new RegExp(
    JSON.stringify(text)
      .slice(1, -1)
      .replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'),
  )
  return {
    anthropic: words,
    'openai-chat': words,
    'openai-responses': words,
    google: words,
    mistral: words,
    cohere: words,
    ollama: words,
  }
}
const refusedByAll = {
  anthropic: 'refused',
  'openai-chat': 'refused',
  'openai-responses': 'refused',
  google: 'refused',
  mistral: 'refused',
  cohere: 'refused',
  ollama: 'refused',
} as const

const rows: Row[] = [
  ['a PNG', dataPart('image/png', 'AAAA'), image],
  ['a PNG that only its name gives away', dataPart('application/octet-stream', 'AAAA', 'a.PNG'), image],
  ['a PNG as a data: link', linkPart('data:image/png;base64,AAAA'), image],
  [
    'an untyped link to a .pdf',
    linkPart('https://x.test/a.pdf?v=1'),
    {
      ...refusedByAll,
      anthropic: /"document","source":\{"type":"url","url":"https:\/\/x.test\/a.pdf\?v=1"\}/,
      'openai-responses': /"input_file","file_url":"https:\/\/x.test\/a.pdf\?v=1"/,
      google: /"fileData":\{"fileUri":"https:\/\/x.test\/a.pdf\?v=1","mimeType":"application\/pdf"\}/,
      mistral: /"document_url","document_url":"https:\/\/x.test\/a.pdf\?v=1"/,
    },
  ],
  ['an SVG', dataPart('image/svg+xml', Buffer.from(svg)), textSaying(svg)],
  ['an SVG as a data: link', linkPart(`data:image/svg+xml,${encodeURIComponent(svg)}`), textSaying(svg)],
  ['a link to an SVG', linkPart('https://x.test/a.svg'), refusedByAll],
  [
    'a link to a text',
    linkPart('https://x.test/a.csv'),
    { ...refusedByAll, 'openai-responses': /"file_url"/, google: /"mimeType":"text\/csv"/ },
  ],
  ['a JSON file', dataPart('application/json', Buffer.from('{"a":1}')), textSaying('{"a":1}')],
  ['a type that ends in +json', dataPart('application/ld+json', Buffer.from('{}')), textSaying('{}')],
  ['a text with a charset', dataPart('text/csv; charset=utf-8', Buffer.from('ü;b')), textSaying('ü;b')],
  [
    'a WAV in another spelling',
    dataPart('audio/x-wav', 'AAAA'),
    {
      ...refusedByAll,
      'openai-chat': /"input_audio":\{"data":"AAAA","format":"wav"\}/,
      google: /"mimeType":"audio\/wav"/,
      mistral: /"input_audio":"AAAA"/,
    },
  ],
  [
    'a video',
    dataPart('video/mp4', 'AAAA'),
    {
      ...refusedByAll,
      'openai-chat': /"video_url":\{"url":"data:video\/mp4/,
      google: /"mimeType":"video\/mp4"/,
    },
  ],
  [
    'a Word document',
    dataPart(docx, 'AAAA'),
    { ...refusedByAll, 'openai-responses': /"input_file","filename":"document.docx"/ },
  ],
  ['an image in a format of print shops', dataPart('image/tiff', 'AAAA'), refusedByAll],
  ['a link to a file on this machine', linkPart('file:///etc/passwd.png'), refusedByAll],
]

describe.each(rows)('%s', (_, part, expected) => {
  it.each(protocolNames)('for %s', (name) => {
    const ask = () => everyProtocol[name]({ messages: [userMessage([part])] }, everything)
    const wanted = expected[name]
    if (wanted === 'refused') expect(ask).toThrow(ConfigurationError)
    else expect(JSON.stringify(ask())).toMatch(wanted)
  })
})

describe('what a model cannot read', () => {
  const blind = { attachments: { images: false, pdf: false, audio: false, links: false } }
  const parts = [
    dataPart('image/png', 'AAAA', 'plan.png'),
    dataPart('application/pdf', 'AAAA'),
    dataPart('audio/mpeg', 'AAAA'),
    dataPart('video/mp4', 'AAAA'),
    linkPart('https://x.test/a.png?signature=secret'),
  ]

  it.each(protocolNames)('is refused by %s before anything is sent, with the model and the type', (name) => {
    for (const part of parts) {
      const ask = () => everyProtocol[name]({ messages: [userMessage([part])] }, blind)
      expect(ask).toThrow(ConfigurationError)
      expect(ask).toThrow(attachedFile(part).mimeType)
      expect(ask).toThrow(/cannot read/)
      expect(ask).not.toThrow(/secret/)
    }
  })

  it.each(protocolNames)('never includes text, which %s gets with its name', (name) => {
    const part = dataPart('application/json', Buffer.from('{"a":1}'), 'a.json')
    const body = JSON.stringify(everyProtocol[name]({ messages: [userMessage([part])] }, blind))
    expect(body).toContain('a.json')
    expect(body).toContain('{\\"a\\":1}')
  })

  it('is named in a sentence of bounded length', () => {
    const part = dataPart(`video/${'x'.repeat(10_000)}`, 'AAAA')
    const ask = () => everyProtocol.anthropic({ messages: [userMessage([part])] })
    expect(ask).toThrow(/^.{0,500}$/)
  })
})

describe('reading a file', () => {
  it.each([
    [linkPart('https://x.test/a.pdf#page=2'), 'pdf', 'application/pdf'],
    [linkPart('https://x.test/a.png', 'application/pdf'), 'pdf', 'application/pdf'],
    [linkPart('https://x.test/cat'), 'image', undefined],
    [linkPart('https://x.pdf'), 'image', undefined],
    [linkPart('https://x.test/?file=a.pdf'), 'image', undefined],
    [linkPart('https://x.test/download', undefined, 'report.pdf'), 'pdf', 'application/pdf'],
    [linkPart('https://x.test/cat', 'IMAGE/JPG; q=1'), 'image', 'image/jpeg'],
    [dataPart('', 'AAAA'), 'other', 'application/octet-stream'],
    [linkPart('data:,hello'), 'text', 'text/plain'],
    [linkPart('data:text/plain,%zz'), 'text', 'text/plain'],
  ])('takes %j for %s of type %s', (part, kind, mimeType) => {
    expect(attachedFile(part)).toMatchObject({ kind, mimeType })
  })

  it('looks at a huge data: link once', () => {
    const data = 'A'.repeat(8_000_000)
    const file = attachedFile(linkPart(`data:image/png;base64,${data}`))
    expect('data' in file && file.data.length).toBe(data.length)
  })
})
