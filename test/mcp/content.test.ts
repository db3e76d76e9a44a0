/** The answers of a server as a model gets them, also where the server breaks the protocol. */
import { expect, test } from 'vitest'
import { resultContent } from '../../src/mcp/call.ts'
import { ToolNames } from '../../src/mcp/ToolList.ts'

const text = (value: string) => ({ type: 'text', text: value })

test.each([
  ['nothing', { content: [] }, null],
  ['no content at all', {}, null],
  ['text', { content: [text('a'), text('b')] }, [text('a'), text('b')]],
  [
    'a sound',
    { content: [{ type: 'audio', mimeType: 'audio/wav', data: 'UklGRg==' }] },
    [{ type: 'data', mimeType: 'audio/wav', data: 'UklGRg==' }],
  ],
  [
    'an image that is not base64',
    { content: [{ type: 'image', mimeType: 'image/png', data: '<svg>' }] },
    [text('[image/png: the server did not send it as base64.]')],
  ],
  [
    'a text resource',
    { content: [{ type: 'resource', resource: { uri: 'file:///a.txt', text: 'A' } }] },
    [text('[file:///a.txt]\nA')],
  ],
  [
    'an app, for the page',
    {
      content: [
        text('A chart.'),
        { type: 'resource', resource: { uri: 'ui://chart', mimeType: 'text/html', text: '<b>é</b>' } },
      ],
    },
    [text('A chart.'), { type: 'data', mimeType: 'text/html', data: 'PGI+w6k8L2I+', name: 'ui://chart' }],
  ],
  [
    'a binary resource without a type',
    { content: [{ type: 'resource', resource: { uri: 'a:b', blob: 'AA==' } }] },
    [{ type: 'data', mimeType: 'application/octet-stream', data: 'AA==', name: 'a:b' }],
  ],
  [
    'a link to the web',
    { content: [{ type: 'resource_link', uri: 'https://a.test/b.png', name: 'b', mimeType: 'image/png' }] },
    [{ type: 'link', url: 'https://a.test/b.png', mimeType: 'image/png', name: 'b' }],
  ],
  [
    'a link that only the server can follow',
    { content: [{ type: 'resource_link', uri: 'demo://b', name: 'b' }] },
    [text('[resource: b, demo://b]')],
  ],
  ['an unknown kind', { content: [{ type: 'hologram', x: 1 }] }, [text('{"type":"hologram","x":1}')]],
  ['values that are not blocks', { content: [7, null] }, [text('7'), text('null')]],
  ['structured content alone', { structuredContent: { b: 1, a: 2 } }, [text('{"b":1,"a":2}')]],
  [
    'structured content that is repeated as text',
    { content: [text('{"a":2, "b":1}')], structuredContent: { b: 1, a: 2 } },
    [text('{"a":2, "b":1}')],
  ],
  [
    'structured content whose only field is the text',
    { content: [text('buy milk')], structuredContent: { content: 'buy milk' } },
    [text('buy milk')],
  ],
  [
    'structured content whose only field is the content',
    { content: [{ type: 'hologram' }], structuredContent: { content: [{ type: 'hologram' }] } },
    [text('{"type":"hologram"}')],
  ],
  [
    'structured content whose only field is what the text says as JSON',
    { content: [text('[1, 2]')], structuredContent: { result: [1, 2] } },
    [text('[1, 2]')],
  ],
  [
    'structured content beside words',
    { content: [text('Two.')], structuredContent: [1, 2] },
    [text('Two.'), text('[1,2]')],
  ],
])('%s', (_, answer, parts) => {
  expect(resultContent(answer)).toEqual(parts)
})

test.each([
  [{ isError: true, content: [text('no'), text('way')] }, 'no\nway'],
  [{ isError: true }, 'The tool failed.'],
  [null, 'did not send a result'],
  ['text', 'did not send a result'],
])('%o is an error', (answer, problem) => {
  expect(() => resultContent(answer)).toThrow(problem)
})

test('a long block of almost base64 takes no longer than a short one', () => {
  const data = `${'A'.repeat(5_000_000)}!`
  // It would take hours if each character were compared with each other one.
  const before = process.cpuUsage()
  resultContent({ content: [{ type: 'image', mimeType: 'image/png', data }] })
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(20_000)
})

test('a name stays with its tool, with any later list, in any order', () => {
  const names = new ToolNames('')
  names.add(['a.b'])
  expect(names.of('a.b')).toBe('a_b')
  names.add(['a/b', 'a_b', 'a.b'])
  expect(names.of('a.b')).toBe('a_b')
  expect(new Set(['a.b', 'a/b', 'a_b'].map((each) => names.of(each))).size).toBe(3)
  const [one, other] = [new ToolNames('p-'), new ToolNames('p-')]
  one.add(['x.y', 'x/y', 'x_y'])
  other.add(['x_y', 'x/y', 'x.y'])
  for (const each of ['x.y', 'x/y', 'x_y']) expect(one.of(each)).toBe(other.of(each))
  expect(one.of('x_y')).toBe('p-x_y')
})

test('names of any length and letters become names that providers take', () => {
  const names = new ToolNames('')
  const long = [...Array(20).keys()].map((index) => `${'ж'.repeat(100)}${index}`)
  names.add(long)
  const given = long.map((each) => names.of(each))
  expect(new Set(given).size).toBe(20)
  for (const each of given) expect(each).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
})
