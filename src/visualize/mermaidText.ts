import type { ChartDescription } from './describeMachine.ts'

/** Words that mean something of their own in a state diagram. */
const reserved = new Set(
  'state note end class classdef style direction hide scale default click as fork join choice left right'.split(' '),
)

/** A name for every state that Mermaid can read: its key where that is a plain word and the only one. */
export const mermaidIds = ({ states }: ChartDescription): ReadonlyMap<string, string> => {
  const taken = new Set<string>()
  return new Map(
    states.map(({ id, key }) => {
      const isPlain = /^[a-z]\w*$/i.test(key) && !reserved.has(key.toLowerCase())
      const isOnly = states.filter((each) => each.key === key).length === 1
      const base = isPlain && isOnly ? key : `s_${id.replace(/\W+/g, '_')}`
      let name = base
      for (let count = 2; taken.has(name.toLowerCase()); count += 1) name = `${base}_${count}`
      taken.add(name.toLowerCase())
      return [id, name]
    }),
  )
}

/** A text in which nothing is Mermaid's: all but letters, digits and harmless signs become entity codes. */
export const escapeLabel = (text: string): string =>
  text
    .replace(/\s+/g, ' ')
    .replace(/[^\p{L}\p{N} _.,()[\]!?/+=-]/gu, (char) => `#${char.codePointAt(0)};`)
