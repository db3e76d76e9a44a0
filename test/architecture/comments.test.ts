/** A doc comment begins with a noun or with a verb in the third person, so that a reader knows at once what it is about. */
import { expect, it } from 'vitest'
import { filesIn, lineAt } from './sourceFiles.ts'

const openers = [
  ...[
    'What',
    'Which',
    'Who',
    'Whom',
    'Whose',
    'Whether',
    'How',
    'Why',
    'Where',
    'When',
    'While',
    'If',
    'Unless',
  ],
  ...['This', 'That', 'These', 'Those', 'It', 'Its', 'He', 'She', 'They', 'Their', 'One', 'There', 'Here'],
  ...['Of', 'For', 'As', 'With', 'Without', 'In', 'On', 'At', 'By', 'To', 'From', 'Like', 'Until', 'Since'],
  ...['And', 'Or', 'But', 'So', 'Also', 'Then', 'Because', 'Likewise', 'Otherwise', 'The same'],
  ...['Only', 'Just', 'Not', 'No', 'None', 'Nothing', 'Neither', 'Nobody', 'Never', 'Once', 'Such'],
]

const comment = /\/\*\*\s*(?:\*\s+)?(?!\*)([^\n]*)/g
const badly = new RegExp(`^(?:${openers.join('|')})\\b`)

const badlyBegun = (text: string): [line: number, words: string][] =>
  [...text.matchAll(comment)].flatMap(({ 1: words = '', index }): [number, string][] =>
    badly.test(words) ? [[lineAt(text, index), words]] : [],
  )

it('begins with a noun or a verb', () => {
  const files = filesIn(['src', 'machines', 'providers'], /\.(ts|tsx|js|mjs)$/)
  expect(files.length).toBeGreaterThan(300)
  const found = files.flatMap(({ path, text }) =>
    badlyBegun(text).map(([line, words]) => `${path}:${line}: ${words.slice(0, 80)}`),
  )
  expect(found).toEqual([])
})

it('is found where it does not, on one line and on several', () => {
  expect(badlyBegun('/** What is kept. */\n\n/**\n * Whether it\n * ends.\n */')).toEqual([
    [1, 'What is kept. */'],
    [3, 'Whether it'],
  ])
  expect(badlyBegun('/** Whatever. */ /** The state. */ /** Keeps it. */ /** Nouns. */')).toEqual([])
})
