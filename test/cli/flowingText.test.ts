import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FlowingText } from '../../src/cli/FlowingText.ts'
import { displayWidth, paintFor } from '../../src/cli/terminalText.ts'

const shown = (text: string, { width = 0, isColoured = false, step = 1 } = {}): string => {
  const flow = new FlowingText(() => width, paintFor(isColoured))
  let out = ''
  for (let at = 0; at < text.length; at += step) out += flow.push(text.slice(at, at + step))
  return out + flow.flush()
}
const cyan = (text: string) => paintFor(true).cyan(text)
const bold = (text: string) => paintFor(true).bold(text)
const dim = (text: string) => paintFor(true).dim(text)

describe('lines', () => {
  it('are broken between words, and stay below what they belong to', () => {
    expect(shown('one two three four five six', { width: 20 })).toBe('one two three four\nfive six')
    expect(shown('- a first point that is long', { width: 20 })).toBe('- a first point that\n  is long')
    expect(shown('  10. another one of them', { width: 20 })).toBe('  10. another one of\n      them')
    expect(shown('これは日本語の文章ですよ', { width: 20 })).toBe('これは日本語の文章で\nすよ')
  })

  it('of code and of tables stay whole, and so does what is wider than the screen', () => {
    const code = '```ts\nconst answer = await agent.send(prompt)\n```\n| a long row | of a table |'
    expect(shown(code, { width: 20 })).toBe(code)
    const link = `see https://example.com/${'x'.repeat(60)} there`
    expect(shown(link, { width: 20 }).replace('\n', ' ')).toBe(link)
  })

  it('follow the width that the terminal has by now, and are left alone where it has none', () => {
    const flow = new FlowingText(() => width, paintFor(false))
    let width = 20
    expect(flow.push('aaaa bbbb cccc dddd eeee ')).toBe('aaaa bbbb cccc dddd\neeee')
    width = 40
    expect(flow.push('ffff gggg hhhh iiii jjjj kkkk ')).toBe(' ffff gggg hhhh iiii jjjj kkkk')
    expect(shown('word '.repeat(100))).toBe('word '.repeat(100))
  })

  it('lose nothing, however the text comes, and fit as far as words do', () => {
    const words = fc.array(
      fc.constantFrom('a', 'bb', '**c**', '`d`', '\n', '\n\n', '- ', '# ', 'é', '日本', '```\n', '  '),
    )
    fc.assert(
      fc.property(words, fc.integer({ min: 1, max: 7 }), (parts, step) => {
        const text = parts.join(' ')
        const out = stripVTControlCharacters(shown(text, { width: 24, isColoured: true, step }))
        expect(out.replace(/\s/g, '')).toBe(text.replace(/\s/g, ''))
        expect(out).toBe(stripVTControlCharacters(shown(text, { width: 24, step: text.length || 1 })))
      }),
    )
  })

  it('take time that is linear in the text', () => {
    const time = (text: string) => {
      // The time of the processor, which does not pass while other programs have it.
      const before = process.cpuUsage()
      shown(text, { width: 80, isColoured: true, step: 1000 })
      return process.cpuUsage(before).user / 1000
    }
    const hostile = ['`'.repeat(400_000), '**'.repeat(200_000), 'x'.repeat(400_000), ' '.repeat(400_000)]
    for (const text of hostile) expect(time(text)).toBeLessThan(2000)
  })
})

describe('colours', () => {
  it('of headings, quotes, code and bold words, whose signs stay', () => {
    const text = '# Title\nUse `npm start` and **be brave**.\n> said\n```js\nlet x = "**y**"\n```\nend'
    const lines = shown(text, { isColoured: true }).split('\n')
    expect(lines[0]).toBe(`${bold('#')} ${bold('Title')}`)
    expect(stripVTControlCharacters(lines[1] ?? '')).toBe('Use `npm start` and **be brave**.')
    expect(lines[1]).toContain(`${cyan('`')}${cyan('npm')} ${cyan('start')}${cyan('`')} and`)
    expect(lines[1]).toContain(`${bold('**')}${bold('be')} ${bold('brave')}${bold('**')}.`)
    expect(lines[2]).toBe(`${dim('>')} ${dim('said')}`)
    expect(lines[3]).toBe(dim('```js'))
    expect(lines[4]).toBe(`${cyan('let')} ${cyan('x')} ${cyan('=')} ${cyan('"**y**"')}`)
    expect(lines[6]).toBe('end')
  })

  it('do not go on behind their line, and powers have none', () => {
    expect(shown('**open\nplain', { isColoured: true }).split('\n')[1]).toBe('plain')
    expect(shown('2**3 is 8', { isColoured: true })).toBe('2**3 is 8')
  })
})

it('knows what takes two columns, and what takes none', () => {
  expect(['abc', '日本', '🎉', 'e\u0301', 'é'].map(displayWidth)).toEqual([3, 4, 2, 1, 1])
})
