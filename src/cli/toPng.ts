import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { UsageError } from './exit.ts'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome', 'msedge']
const apps = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
  'C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe',
]
const patienceMs = 60_000

/** A Chrome or Chromium on this machine: the one that `CHROME_PATH` names, or one that is found. */
export const findChrome = (env: NodeJS.ProcessEnv): string | undefined => {
  if (env.CHROME_PATH) return env.CHROME_PATH
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return [...folders.flatMap((folder) => names.map((name) => join(folder, name))), ...apps].find(existsSync)
}

/** The picture of an SVG, as Chrome draws it: twice as large, in light colours. */
export const toPng = async (svg: string, env: NodeJS.ProcessEnv): Promise<Buffer> => {
  const chrome = findChrome(env)
  if (chrome === undefined)
    throw new UsageError(
      'A PNG is drawn by Chrome or Chromium, and none was found: name it in CHROME_PATH, or write an .svg.',
    )
  const [, width = '800', height = '600'] = /viewBox="0 0 (\d+) (\d+)"/.exec(svg) ?? []
  const folder = await mkdtemp(join(tmpdir(), 'statewire-png-'))
  const [page, picture] = [join(folder, 'page.html'), join(folder, 'picture.png')]
  try {
    await writeFile(
      page,
      `<!doctype html><html data-theme="light"><body style="margin:0;background:#fff">${svg}`,
    )
    await promisify(execFile)(
      chrome,
      [
        '--headless',
        '--disable-gpu',
        '--hide-scrollbars',
        '--force-device-scale-factor=2',
        `--user-data-dir=${join(folder, 'profile')}`,
        `--window-size=${width},${height}`,
        `--screenshot=${picture}`,
        // As root Chrome has no sandbox to start in.
        ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
        page,
      ],
      { timeout: patienceMs, killSignal: 'SIGKILL', env },
    )
    return await readFile(picture)
  } catch {
    throw new UsageError(
      `${chrome} did not draw the PNG: name another Chrome in CHROME_PATH, or write an .svg.`,
    )
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
