import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

// Phrases that no native engineer would write, and what to write instead. Only those that are never right: what depends on
// its sentence is in the list of CONTRIBUTING.md.
const never: readonly [phrase: RegExp, better: string][] = [
  [
    /\b(nobody|somebody) (can|could|may|must|is|was|has|had|else|knows|runs|reads|goes|asked|waits)\b/i,
    'say who',
  ],
  [
    /\bwhoever (keeps|runs|opens|goes|asks|watches|sits|traces|shows|waits|reaches)\b/i,
    'name the reader or process',
  ],
  [/\bwhatever it is\b/i, 'any value'],
  [/\b(is|are) put away\b|\bbe put away\b/i, 'stored, paused'],
  [/\bstands? still\b/i, 'is paused'],
  [/\b(is|are) void\b/i, 'discard …, does not count'],
  [/\b(begins?|made|written|asked for|record(ed)?|start) anew\b/i, 'starts over, again'],
  [/\b(becomes?|became) of (it|them|a|the|each|what)\b/i, 'what happens to'],
  [/\bof the user's\b(?! (own|reader))/i, "a user's …"],
  [/\bgo(es|ne) on with\b/i, 'continue'],
  [
    /\b(is|are) no (role|message|event|call|error|secret|instances?|candidate|credential|list)\b(?! (of|named|that|to|for|in))/i,
    'is not a',
  ],
  [/\bhow (it|a run|each run|runs) stands?\b|\bwhere (it|a run) stands\b/i, 'its status'],
  [/\bguards that always say the same\b/i, 'guards that are always true or always false'],
  [/\bas long as nothing was shown\b/i, 'if no part of the answer was shown yet'],
  [/\bwhat the client's processor does\b/i, 'processor time of the client'],
  [/\bcan be told; nothing is required\b/i, 'Options of …'],
]

/** The reference is generated from the comments that are read anyway. */
const filesIn = (path: string): string[] => {
  if (!statSync(path).isDirectory()) return [path]
  if (path === 'docs/api') return []
  return readdirSync(path)
    .map((name) => join(path, name))
    .flatMap((each) =>
      statSync(each).isDirectory() || /\.(md|ts|tsx|js|html)$/.test(each) ? filesIn(each) : [],
    )
}

const files = ['README.md', 'SECURITY.md', 'docs', 'src', 'machines', 'providers'].flatMap(filesIn)

/** Sentences run over lines: the marks of comments between them are taken out. */
const proseOf = (text: string): string => text.replace(/\s*\n\s*(?:\*(?!\/)|\/\/|--)?\s*/g, ' ')

const foundIn = (text: string): string[] =>
  never.flatMap(([phrase, better]) => {
    const found = phrase.exec(proseOf(text))
    return found ? [`"${found[0]}": ${better}`] : []
  })

test('odd phrases stay out', () => {
  expect(files.length).toBeGreaterThan(400)
  const odd = files.flatMap((file) => foundIn(readFileSync(file, 'utf8')).map((each) => `${file}: ${each}`))
  expect(odd).toEqual([])
})

test('such a phrase is found, also across two lines', () => {
  expect(foundIn(' * The run stands\n * still.')).toEqual(['"stands still": is paused'])
  expect(foundIn('The run is paused.')).toEqual([])
})
