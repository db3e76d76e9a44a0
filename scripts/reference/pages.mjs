// The pages of the API reference, from the sources: one for each topic of `statewire`, one for each other entry.
import ts from 'typescript'
import { entryOfName, fieldsOf, isForeign, isInternal, textOf } from './entry.mjs'
import { entries, publicNames, summaryOf } from './publicNames.mjs'

const isType = ({ declaration }) =>
  ts.isTypeAliasDeclaration(declaration) || ts.isInterfaceDeclaration(declaration)

const alphabetical = (names) =>
  names.toSorted(
    (a, b) => a.name.toLowerCase().localeCompare(b.name.toLowerCase(), 'en') || (a.name < b.name ? 1 : -1),
  )

/** The order on a page: its own name first, then functions and classes, then types. */
const sorted = (names, page) => {
  const [values, types] = [names.filter((each) => !isType(each)), names.filter(isType)].map(alphabetical)
  const rank = ({ name }) => [page, `${page}options`].indexOf(name.toLowerCase())
  const first = [...values, ...types].filter((each) => rank(each) >= 0)
  return [
    ...first.toSorted((a, b) => rank(a) - rank(b)),
    ...[...values, ...types].filter((each) => rank(each) < 0),
  ]
}

/** The anchors that GitHub gives to headings: a second one of the same letters gets a number. */
const anchorsOf = (names) => {
  const taken = new Map()
  return new Map(
    names.map((each) => {
      const anchor = each.name.toLowerCase()
      const count = taken.get(anchor) ?? 0
      taken.set(anchor, count + 1)
      return [each, count === 0 ? anchor : `${anchor}-${count}`]
    }),
  )
}

const pagesOf = (names) => {
  const pageOf = ({ entry, ...each }) =>
    isValue(entry) ? values.page : entry.name || topicOf({ entry, ...each })
  const others = entries.flatMap((entry) => (entry.name && !isValue(entry) ? [entry.name] : []))
  return [...order, ...others, values.page].flatMap((page) => {
    const topic = [...topics, values].find((each) => each.page === page)
    const entry = entries.find(({ name }) => name === page)
    const own = names.filter((each) => pageOf(each) === page)
    // An entry may have only names that others have, too.
    if (own.length === 0) return []
    return {
      page,
      title: topic?.title ?? entry.from,
      summary: topic?.summary ?? summaryOf(entry),
      from: topic ? (topic.from ?? 'statewire') : entry.from,
      names: sorted(own, page),
    }
  })
}

/** The providers as values are on one page. */
const values = {
  page: 'provider-values',
  title: 'Providers as values',
  summary: 'Providers as values, an entry for each: what a page imports instead of the registry',
  from: 'statewire/providers/<name>',
}

const isValue = ({ name }) => name.startsWith('providers/')

const pageText = ({ page, title, summary, from, names }, checker, place, problems) => {
  // A link on the page itself is short.
  const to = (name) => place(name, page)
  const link = (type) => {
    const [target] = (type.match(/\w+/g) ?? []).flatMap((name) => to(name) ?? [])
    return target ? `[\`${type}\`](${target})` : undefined
  }
  const linked = (text) =>
    text.replace(/\{@link (\w+)(?:\.(\w+))?\s*\|?\s*([^}]*)\}/g, (_, name, member, words) => {
      const target = to(name)
      if (!target) problems.push(`${page}: {@link ${name}} leads nowhere.`)
      return `[${words || `\`${member ? `${name}.${member}` : name}\``}](${target})`
    })
  const list = names.map(({ name }) => `[\`${name}\`](${to(name)})`).join(' · ')
  const entriesOfPage = names.map((each) => `## ${each.name}\n\n${linked(entryOfName(each, checker, link))}`)
  const used = `\`import { … } from '${from}'\``
  return `${[`# ${title}`, `${summary.replace(/\.$/, '')}. ${used}`, list, ...entriesOfPage].join('\n\n')}\n`
}

/** Public names, and fields of options, that nothing is said about. */
const undescribed = ({ names }, checker) =>
  names.flatMap((each) => {
    // What another package declares is described there.
    if (isForeign(each) || isInternal(each.symbol)) return []
    const own = textOf(each.symbol, checker) === '' ? [`${each.name} has no description.`] : []
    if (
      !/Options$|^RetryPolicy$|^Timeouts$|^GenerationSettings$/.test(each.name) ||
      !each.type ||
      each.type.isUnion()
    )
      return own
    const silent = fieldsOf(each.type, checker).filter(({ text, value }) => text === '' && value === '')
    return [...own, ...silent.map(({ name }) => `${each.name}.${name} has no description.`)]
  })

/** Every file of the reference by its name, and what is wrong with the comments it is made of. */
export const referencePages = () => {
  const { names, checker } = publicNames()
  const problems = []
  const pages = pagesOf(names)
  const places = new Map(
    pages
      .flatMap(({ page, names: own }) =>
        [...anchorsOf(own)].map(([{ name }, anchor]) => ({ page, name, anchor })),
      )
      // Two entries may have the same name: a link means the one on its own page, or else the first.
      .toReversed()
      .flatMap((each) => [
        [each.name, each],
        [`${each.page}/${each.name}`, each],
      ]),
  )
  const place = (name, from) => {
    const found = places.get(`${from}/${name}`) ?? places.get(name)
    return found && `${found.page === from ? '' : `${found.page}.md`}#${found.anchor}`
  }
  const index = [
    '# API reference',
    'Every public name. `npm run docs` writes these pages from the comments in the sources; the [guides](../README.md) explain how things fit together.',
    '| page | what is on it | import from |\n| --- | --- | --- |\n' +
      pages
        .map(
          ({ page, title, summary, from }) =>
            `| [${title}](${page}.md) | ${summary.replace(/\.$/, '')} | \`${from}\` |`,
        )
        .join('\n'),
  ]
  const files = new Map(pages.map((each) => [`${each.page}.md`, pageText(each, checker, place, problems)]))
  problems.push(...pages.flatMap((each) => undescribed(each, checker)))
  return { files: new Map([...files, ['README.md', `${index.join('\n\n')}\n`]]), problems }
}

/** The pages of `statewire`, in the order of the index; a name is on the first whose files it comes from. */
export const topics = [
  ['errors', 'Errors', 'What can be thrown', /^src\/messages\/errors/],
  [
    'results',
    'Results',
    'What a send gives',
    /^src\/messages\/(result|compaction)|^src\/agent\/partialValues/,
  ],
  ['messages', 'Messages', 'What a conversation is made of', /^src\/messages\//],
  [
    'tools',
    'Tools',
    'Tools, approvals, schemas',
    /^src\/tools\/|^src\/model\/serverTools|^src\/agent\/agentTool/,
  ],
  ['chat', 'Chat', 'A conversation that keeps its own history', /^src\/agent\/Chat/],
  [
    'orchestrators',
    'Orchestrators',
    'Other ways of answering, and decisions',
    /^machines\/orchestrators\/|^src\/agent\/createDecision/,
  ],
  [
    'runs',
    'Runs',
    'A run as a handle and as an actor: its states, events and data',
    /^src\/agent\/Run\.|^machines\/agent\/(events|agentSnapshot|agentMachine|streamingState)|^machines\/logic\//,
  ],
  [
    'agent',
    'Agent',
    'The agent, all of its options, and those of a send',
    /^src\/agent\/|^machines\/|^src\/model\/(retryPolicy|timeouts|clock)|^providers\/http\/(credentials|connection)/,
  ],
  ['models', 'Models and providers', 'Model strings, providers, models of your own', /./],
].map(([page, title, summary, files]) => ({ page, title, summary, files }))

/** The order in which a reader looks for them. */
export const order = [
  'agent',
  'runs',
  'chat',
  'tools',
  'messages',
  'results',
  'errors',
  'models',
  'orchestrators',
]

/** Options of an agent that live beside the models. */
const agentOptions =
  /^(GenerationSettings|ConnectionOptions|TransportOptions|Limits|EmbedOptions|Thinking|ToolChoice)$/

export const topicOf = ({ name, file }) =>
  agentOptions.test(name) ? 'agent' : topics.find(({ files }) => files.test(file)).page
