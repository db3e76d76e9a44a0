/** Words that the project does not use, and those that it uses instead. CONTRIBUTING.md shows the first two columns. */
export type PlainWord = { avoid: string; write: string; found: readonly RegExp[]; within?: RegExp }

/** Finds a word in prose and as a part of a name: `tell`, `tellEnd`, `isTold`. */
const word = (...forms: readonly string[]): RegExp[] =>
  forms.flatMap((form) => {
    const capital = form.charAt(0).toUpperCase() + form.slice(1)
    return [new RegExp(`(?<![A-Za-z'’])${form}(?![a-z])`), new RegExp(`(?<![A-Z])${capital}(?![a-z])`)]
  })

export const plainWords: readonly PlainWord[] = [
  {
    avoid: 'tell, told',
    write: 'send, emit, report; delivered, emitted, reported',
    // A person may say so to a model.
    found: [...word('telling', 'told'), /(?<![A-Za-z])tells?(?![a-z])/, /(?<![A-Z])Tells?(?![a-z])(?! me\b)/],
  },
  { avoid: 'hear, heard', write: '`on…`, get, see', found: word('hear', 'hears', 'heard', 'hearing') },
  {
    avoid: 'stand, standing, standAs',
    write: 'status; is in',
    found: [/(?<![A-Za-z])stands?(?![a-z]|-alone)/, /Stands?(?![a-z])/, ...word('standing', 'stood')],
  },
  { avoid: 'leg', write: 'segment', found: word('leg', 'legs') },
  {
    avoid: 'life (of a process)',
    write: 'incarnation',
    found: [/(?<![A-Za-z-])life(?![a-z]|[ -]cycle)/, /Life(?![a-z]|[ -]cycle)/],
  },
  { avoid: 'live (of a row)', write: 'unsettled', found: [/\blive rows?\b/] },
  {
    avoid: 'head (of a stored run)',
    write: 'snapshot',
    found: word('head', 'heads'),
    within: /^src\/(durable|dbos)\//,
  },
  {
    avoid: 'takeUp, take up',
    write: 'recover',
    found: [/takeUp/i, /takenUp/i, /\b(?:takes?|taken|took|taking) up\b(?! to\b)/i],
  },
  {
    avoid: 'leaveWord',
    write: 'enqueueCommand',
    found: [/leaveWord/i, /leftWord/i, /\b(?:leave|left) word\b/i],
  },
  { avoid: 'obey', write: 'applyCommand', found: word('obey', 'obeys', 'obeyed', 'obeying') },
  { avoid: 'giveUp', write: 'abandon', found: [/giveUp/i, /gaveUp/i, /givenUp/i] },
  { avoid: 'whyNot', write: 'failureOf', found: [/whyNot/i] },
  { avoid: 'alongside', write: 'inNextWrite; beside', found: word('alongside') },
  { avoid: 'Keeper', write: 'RunOwner', found: word('keeper', 'keepers') },
  { avoid: 'lane', write: 'fast path', found: word('lane', 'lanes') },
  { avoid: 'shared (a function)', write: 'deepFreeze', found: [/(?<![.\w])shared\(/] },
  {
    avoid: 'changed (a function)',
    write: 'wrapLogic',
    found: [/(?<![.\w])changed\(/],
    within: /^machines\//,
  },
  { avoid: 'marked (a function)', write: 'registerRunMachine', found: [/(?<![.\w])marked\(/] },
  { avoid: 'atOnce', write: 'synchronous, or concurrency', found: [/atOnce(?![a-z])/, /AtOnce(?![a-z])/] },
  { avoid: 'grip', write: 'internals', found: word('grip', 'grips') },
  {
    avoid: 'Talk (a type)',
    write: 'the thing that it is: a chat, a conversation',
    found: [/[A-Za-z]+Talk\b/, /\b(?:type|class) Talk\b/],
  },
  { avoid: 'Misread', write: 'the thing that it is: an error, a result', found: [/Misread/] },
  {
    avoid: 'Taken (a type)',
    write: 'the thing that it is: a read, a result',
    found: [/\b(?:type|class) Taken\b/, /[:<|] Taken\b/],
  },
  { avoid: 'PhaseWay', write: 'the thing that it is: a transition', found: [/PhaseWay/] },
  { avoid: 'whereabouts', write: 'path, place', found: word('whereabouts') },
  {
    avoid: 'unspelled, sameWhereEqual',
    write: 'a verb that says what is done',
    found: [/unspelled/i, /sameWhereEqual/i],
  },
  {
    avoid: 'nobody, somebody, anybody, whoever',
    write: 'the process, the reader, a caller, a person',
    found: word('nobody', 'somebody', 'anybody', 'whoever'),
  },
  { avoid: 'anew', write: 'again, starts over', found: word('anew') },
  {
    avoid: 'is none, is no role',
    write: 'is not a role',
    found: [
      /(?<!there )\b(?:is|are) none\b(?! of\b)/,
      /\b(?:is|are) no (?:role|message|event|call|error|secret|instances?|candidate|credential|list)\b(?! (?:of|named|that|to|for|in))/,
    ],
  },
  { avoid: 'knows no', write: 'does not have, does not take', found: [/\bknows no\b/] },
  { avoid: 'from 1 on', write: 'a positive whole number', found: [/\bfrom [01] on\b/] },
  {
    avoid: 'put away, stands still',
    write: 'stored, paused',
    found: [/\b(?:is|are|be|was|were) put away\b/],
  },
  {
    avoid: 'what becomes of it',
    write: 'what happens to it',
    found: [/\b(?:becomes?|became) of (?:it|them|a|the|each|what)\b/],
  },
  {
    avoid: "of one's own, of the user's",
    write: 'its own, your own, a user’s',
    found: [/\bof (?:one's|the user's) own\b/, /\bof the user's\b(?! (?:own|reader))/],
  },
  { avoid: 'go on with', write: 'continue', found: [/\bgo(?:es|ne)? on with\b/] },
  { avoid: 'is void', write: 'does not count', found: [/\b(?:is|are) void\b/] },
  { avoid: 'whatever it is', write: 'any value', found: [/\bwhatever it is(?! \w)/] },
  {
    avoid: 'guards that always say the same',
    write: 'guards that are always true or always false',
    found: [/\bguards that always say the same\b/],
  },
  {
    avoid: 'as long as nothing was shown',
    write: 'if no part of the answer was shown yet',
    found: [/\bas long as nothing was shown\b/],
  },
  {
    avoid: "what the client's processor does",
    write: 'processor time of the client',
    found: [/\bwhat the client's processor does\b/],
  },
  { avoid: 'can be told; nothing is required', write: 'Options of …', found: [/\bnothing is required\b/] },
]

/** The rows of the table in CONTRIBUTING.md. */
export const wordTable = (): string[] => [
  '| avoid | write |',
  '|---|---|',
  ...plainWords.map(({ avoid, write }) => `| ${avoid} | ${write} |`),
]
