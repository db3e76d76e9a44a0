// What the comment of a name says: its text, its example, its default.
import ts from 'typescript'

/** The text of a comment; paragraphs stay apart. */
export const textOf = (symbol, checker) =>
  ts
    .displayPartsToString(symbol.getDocumentationComment(checker))
    .split(/\n{2,}/)
    .map((paragraph) => (/^[-*|] /m.test(paragraph) ? paragraph : paragraph.replace(/\s*\n\s*/g, ' ')))
    .join('\n\n')
    .trim()

const tagsOf = (symbol, checker, name) =>
  symbol
    .getJsDocTags(checker)
    .filter((tag) => tag.name === name)
    .map(({ text }) => ts.displayPartsToString(text).trim())

export const examplesOf = (symbol, checker) => tagsOf(symbol, checker, 'example')

export const isInternal = (symbol) => symbol.getJsDocTags().some(({ name }) => name === 'internal')

/** The last sentence of a comment may be `Default: …`: it has a column of its own. */
export const splitDefault = (text) => {
  const [, before = '', value] = /^([\s\S]*?)\s*\bDefault: ([\s\S]+?)\.?$/.exec(text) ?? []
  return value ? { text: before.trim(), value } : { text, value: '' }
}
