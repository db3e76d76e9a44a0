// The pages of the API reference, from the sources: one for each topic of `statewire`, one for each other entry.
import ts from 'typescript'
import { isInternal, textOf } from './comments.mjs'
import { entryOfName, isForeign } from './entryOfName.mjs'
import { fieldsOf } from './fields.mjs'
import { entries, publicNames, summaryOf } from './publicNames.mjs'
import { order, topicOf, topics } from './topics.mjs'

const isType = ({ declaration }) =>
  ts.isTypeAliasDeclaration(declaration) || ts.isInterfaceDeclaration(declaration)

const alphabetical = (names) =>
  names.toSorted(
    (a, b) => a.name.toLowerCase().localeCompare(b.name.toLowerCase(), 'en') || (a.name < b.name ? 1 : -1),
  )

/** What is called comes before what is only named; the name of the page comes first of all. */
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
  const pageOf = (each) => each.entry.name || topicOf(each)
  return [...order, ...entries.flatMap(({ name }) => (name ? [name] : []))].map((page) => {
    const topic = topics.find((each) => each.page === page)
    const entry = entries.find(({ name }) => name === page)
    return {
      page,
      title: topic?.title ?? entry.from,
      summary: topic?.summary ?? summaryOf(entry),
      from: topic ? 'statewire' : entry.from,
      names: sorted(
        names.filter((each) => pageOf(each) === page),
        page,
      ),
    }
  })
}

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
