type Rule = [pattern: RegExp, answer: (match: RegExpExecArray, talk: Talk) => string | undefined]

/** `said`: the user's texts so far, the question last. */
export type Talk = { said: readonly string[]; toolNames: readonly string[] }

/** What the simulator says where no tool is asked for. */
export const smallTalk = (talk: Talk): string => {
  const question = talk.said.at(-1)?.trim() ?? ''
  for (const [pattern, answer] of rules) {
    const match = pattern.exec(question)
    const text = match && answer(match, talk)
    if (text) return text
  }
  return `I am a simulator and answer by a few rules; none of them fits “${shortened(question)}”. ${hint(talk)}`
}

const longestCount = 500

const rules: Rule[] = [
  [/^$/, () => 'You have said nothing. I am a simulator: ask me something.'],
  [/\bAPPROVED\b/, () => 'APPROVED. A simulator finds nothing to change in what its rules say.'],
  [
    /\bwhat(?:'s|’s| is| was) my ([\p{L} ]{2,30}?)\s*[?.!]*$/iu,
    ([, what = ''], { said }) => recalled(what, said),
  ],
  [/\bwho am i\b/i, (_, { said }) => recalled('name', said)],
  [/\bmy\b|\bcall me\b|\bI(?:'m| am) called\b/i, (_, { said }) => acknowledged(said.at(-1) ?? '')],
  [/\bcount (?:from 1 )?(?:up )?to (\d{1,6})/i, ([, to]) => countedTo(Math.min(Number(to), longestCount))],
  [/^(?:please )?(?:say|repeat|echo)\s+(?:after me:?\s*)?["“']?(.+?)["”']?$/is, ([, text]) => text],
  [/\bwhat can you do\b|\byour tools\b|^help\b/i, (_, talk) => `I am a simulator. ${hint(talk)}`],
  [
    /\b(?:who|what) are you\b|\bare you (?:real|a model|human)\b/i,
    () =>
      'I am the simulator that comes with statewire: I speak a real wire format over a real socket, but my words come from rules, not from a model.',
  ],
  [
    /^(?:hello|hi|hey|good (?:morning|evening|day))\b/i,
    (_, talk) => `Hello! I am a simulator, so expect rules instead of wit. ${hint(talk)}`,
  ],
  [/\bthank(?:s| you)\b/i, () => 'You are welcome, says the simulator.'],
  [
    /\banalyse the question\b/i,
    (_, { said }) =>
      `Asked is: “${shortened(said.at(-1)?.split('\n')[0] ?? '')}”. A simulator analyses by rules: it looks for tools that fit these words.`,
  ],
  [
    /\bhypothes[ei]s\b/i,
    () =>
      'One hypothesis: a tool knows the answer. A result confirms it, an error refutes it. (I am a simulator.)',
  ],
]

const fact =
  /\bmy ([\p{L} ]{2,30}?) is ([^.,;!?\n]{1,60})|\b(?:call me|I(?:'m|’m| am) called) ([^.,;!?\n]{1,60})/giu

/** What the user told of themselves: "My name is Ada", "Call me Ada", "my favourite colour is green". */
const toldIn = (text: string): [what: string, value: string][] =>
  [...text.matchAll(fact)].map(([, what = 'name', value, called]) => [
    what.toLowerCase(),
    (value ?? called ?? '').trim(),
  ])

const acknowledged = (text: string): string | undefined => {
  const [what, value] = toldIn(text)[0] ?? []
  if (what === undefined) return undefined
  const greeting = what === 'name' ? `Nice to meet you, ${value}.` : `Noted: your ${what} is ${value}.`
  return `${greeting} I am a simulator, and keep it in mind for this conversation.`
}

const recalled = (what: string, said: readonly string[]): string => {
  const found = said.flatMap(toldIn).findLast(([known]) => known === what.toLowerCase())
  return found ? `Your ${what} is ${found[1]}.` : `You have not told me your ${what}. (I am a simulator.)`
}

const countedTo = (last: number): string =>
  Array.from({ length: Math.max(last, 1) }, (_, at) => at + 1).join(' ')

const hint = ({ toolNames }: Talk): string =>
  toolNames.length > 0
    ? `I can call these tools, if your question names what they need: ${toolNames.join(', ')}.`
    : 'I have no tools here; I can count to ten, and remember your name if you tell me.'

export const shortened = (text: string, longest = 80): string =>
  text.length > longest ? `${text.slice(0, longest).trimEnd()}…` : text
