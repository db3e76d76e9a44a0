// Mutants that no test should kill: the words of messages for people. Loaded by Stryker, hence JavaScript.
import { declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin'

/** Two words and more, each of letters: a sentence. A word of a wire has no spaces. */
const isProse = (text) => /\p{L}{2,} \p{L}+/u.test(text)

const textOf = (node) =>
  node.type === 'TemplateLiteral' ? node.quasis.map(({ value }) => value.raw).join('…') : (node.value ?? '')

export const strykerPlugins = [
  declareValuePlugin(PluginKind.Ignore, 'prose', {
    shouldIgnore: ({ node }) =>
      (node.type === 'StringLiteral' || node.type === 'TemplateLiteral') && isProse(textOf(node))
        ? 'A sentence for people: its wording is not a promise.'
        : undefined,
  }),
]
