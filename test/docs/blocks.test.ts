import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import { type CodeBlock, codeBlocks, isScript, isShell } from './codeBlocks.ts'
import { type PageProgram, pageProgram, pagePrograms } from './pageProgram.ts'
import { runPage } from './runPage.ts'
import { commandProblem, commandsOf, linesOf, runLine } from './shellLines.ts'
import { typeProblems } from './typeProblems.ts'

// Each is a process of its own: on a busy machine they take their time.
vi.setConfig({ testTimeout: 600_000 })

const guides = readdirSync('docs').filter((name) => name.endsWith('.md'))
const pages = ['README.md', 'CONTRIBUTING.md', 'SKILL.md', ...guides.map((name) => `docs/${name}`)]
const blocks = pages.flatMap((page) => codeBlocks(page))

const scriptsOf = (page: string): CodeBlock[] => blocks.filter((each) => each.page === page && isScript(each))
const programs = pages.flatMap((page) => pagePrograms(page, scriptsOf(page)))

/** A page that must fail, to prove that the checks find something. */
const badPage = (page: string, ...codes: string[]): PageProgram => {
  const markdown = codes.map((code) => `Some text.\n\n\`\`\`ts\n${code}\n\`\`\`\n`).join('\n')
  return pageProgram(page, codeBlocks(page, markdown))
}

describe('the code in the documents', () => {
  test('has the types it says it has, and a wrong type or a second declaration is found out', () => {
    const [good, bad] = ["import { tool } from 'statewire'\nconst used = tool", 'used(1)']
    const broken = [badPage('broken.md', good, bad), badPage('twice.md', 'const a = 1', 'const a = 2')]
    const [found, again, once, ...others] = typeProblems(
      [...broken, ...programs],
      ['examples/react/App.tsx', 'examples/inBrowser/App.tsx'],
    )
    expect(others).toEqual([])
    expect(found).toMatch(/^broken\.md:11: Argument of type 'number'/)
    const twice = "Cannot redeclare block-scoped variable 'a'."
    expect([again, once]).toEqual([`twice.md:4: ${twice}`, `twice.md:10: ${twice}`])
  })

  test.concurrent.each(programs.map((program) => [program.title, program] as const))(
    'of %s runs',
    async (_, program) => {
      expect(await runPage(program)).toBeUndefined()
    },
  )

  test('builds on what is above it, and each page says so', () => {
    const silent = pages.filter((page) => {
      const unnamed = scriptsOf(page).filter(({ file }) => file === undefined)
      const isSaid = /build on each other|[Ss]ave this as `/.test(readFileSync(page, 'utf8'))
      return unnamed.length > 1 && !isSaid
    })
    expect(silent).toEqual([])
  })

  test.concurrent('that throws is found out, with its place', async () => {
    const page = badPage('broken.md', 'const a = 1', 'throw new Error("no " + a)')
    expect(await runPage(page)).toMatch(/The block at broken\.md:10 broke: Error: no 1/)
  })

  test.concurrent('that leaves something running is found out', async () => {
    expect(await runPage(badPage('broken.md', 'setInterval(() => {}, 1000)'), 3_000)).toMatch(
      /did not end by itself/,
    )
  })

  test.concurrent('that would leave this machine is found out', async () => {
    const page = badPage('broken.md', "await fetch('https://example.com/')")
    expect(await runPage(page)).toMatch('must not go to https://example.com/')
  })

  test('is run, with few exceptions that give their reason', () => {
    const exceptions = blocks.filter(({ notRun }) => notRun)
    for (const { page, line, notRun } of exceptions) console.log(`${page}:${line} is not run: ${notRun}`)
    expect(exceptions.length).toBeLessThanOrEqual(18)
    const known = ['ts', 'tsx', 'js', 'sh', 'json', 'text', 'html', 'mermaid', 'diff']
    expect(blocks.map(({ language }) => language).filter((kind) => !known.includes(kind))).toEqual([])
  })
})

describe('the commands in the documents', () => {
  const shell = blocks.filter(isShell)
  const statewire = shell.flatMap((block) => linesOf(block).filter((line) => line.includes('npx statewire')))

  test('exist', () => {
    const wrong = shell.flatMap((block) =>
      commandsOf(block).flatMap((command) => {
        const problem = commandProblem(command)
        return problem ? [`${block.page}:${block.line}: ${command}: ${problem}`] : []
      }),
    )
    expect(wrong).toEqual([])
  })

  test('begin with the two that do everything in a fresh clone', () => {
    const [first] = codeBlocks('README.md')
    expect(first && linesOf(first)).toEqual([
      'git clone https://github.com/statewire/statewire.git && cd statewire && npm start',
      'npm test',
    ])
  })

  test.concurrent.each([...new Set(statewire)])('%s works', async (line) => {
    const { printed, code } = await runLine(line)
    expect(code, printed).toBe(0)
    expect(printed).not.toBe('')
  })

  test.each(['npm run nothing', 'npx nothing', 'node examples/none.mjs', 'rm -rf /', 'npm install left-pad'])(
    'are found out if they are like %s',
    (command) => {
      expect(commandProblem(command)).toBeDefined()
    },
  )
})
