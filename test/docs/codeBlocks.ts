import { readFileSync } from 'node:fs'

export type CodeBlock = {
  page: string
  language: string
  code: string
  /** Of its first line of code, from 1. */
  line: number
  /** Why it is not run: said in a comment right before it. */
  notRun: string | undefined
  /** The file that the page asks the reader to save it as; undefined: it goes below the block before it. */
  file: string | undefined
}

/** The code blocks of a markdown page, in order. */
export const codeBlocks = (page: string, markdown = readFileSync(page, 'utf8')): CodeBlock[] => {
  const blocks: CodeBlock[] = []
  let open: CodeBlock | undefined
  let before = ''
  let paragraph = ''
  markdown.split('\n').forEach((text, index) => {
    if (open) {
      if (text.startsWith('```')) open = undefined
      else open.code += `${text}\n`
      return
    }
    const language = /^```(\w+)/.exec(text)?.[1]
    if (language) {
      const notRun = /<!-- not run: (.+) -->$/.exec(paragraph)?.[1]
      const file = /\b[Ss]ave (?:this|it) as `([^`]+)`/.exec(paragraph)?.[1]
      open = { page, language, code: '', line: index + 2, notRun, file }
      blocks.push(open)
    }
    // The paragraph right before a block is what introduces it.
    if (text !== '') paragraph = before === '' ? text : `${paragraph} ${text}`
    before = text
  })
  if (open) throw new Error(`${page}: the block at line ${open.line} is never closed.`)
  return blocks
}

export const isScript = ({ language, notRun }: CodeBlock): boolean => /^[tj]s$/.test(language) && !notRun

export const isShell = ({ language, notRun }: CodeBlock): boolean => language === 'sh' && !notRun
