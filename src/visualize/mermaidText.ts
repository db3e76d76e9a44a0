import type { ChartDescription } from './describeMachine.ts'

/** Words that Mermaid stumbles over when a state is called so, beside all that any object has. */
const reserved = new Set(
  'accdescr acctitle as class classdef click default direction end hide href note root scale state statediagram style'.split(
    ' ',
  ),
)

/** A name for every state that Mermaid can read: its key where that is a plain word and the only one. */
export const mermaidIds = ({ states }: ChartDescription): ReadonlyMap<string, string> => {
  const taken = new Set<string>()
  return new Map(
    states.map(({ id, key }) => {
      const isOnly = states.filter((each) => each.key === key).length === 1
      const base = isPlain(key) && isOnly ? key : `s_${id.replace(/\W+/g, '_')}`
      let name = base
      for (let count = 2; taken.has(name.toLowerCase()); count += 1) name = `${base}_${count}`
      taken.add(name.toLowerCase())
      return [id, name]
    }),
  )
}

/** `any_` begins the names for any state of a group. */
const isPlain = (key: string): boolean =>
  /^(?!any_)[a-z]\w*$/i.test(key) && !reserved.has(key.toLowerCase()) && !(key in {})

/** A text in which nothing is Mermaid's: all but letters, digits and harmless signs become entity codes. */
export const escapeLabel = (text: string): string =>
  text.replace(/\s+/g, ' ').replace(/[^\p{L}\p{N} _.,()[\]!?/+=-]/gu, (char) => `#${char.codePointAt(0)};`)
