import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'

/** The files of the page by their names, and where they are. */
export type PageFiles = ReadonlyMap<string, URL | string>

/** The page as one document that needs no server: what comes before the data of a run in it, and what comes after. */
export const exportedPage = async (places: PageFiles): Promise<{ before: string; after: string }> => {
  const read = async ([name, place]: [string, URL | string]): Promise<[string, string]> => [
    name,
    await readFile(place, 'utf8'),
  ]
  const files = new Map(await Promise.all([...places].map(read)))
  const allowed: string[] = []
  const styled = (files.get('index.html') ?? '').replace(
    /<link rel="stylesheet" href="(\w+\.css)" \/>/g,
    (_, name: string) => `<style>${hashed(files.get(name) ?? '', allowed)}</style>`,
  )
  const styles = allowed.splice(0)
  const modules = [...files]
    .filter(([name]) => name.endsWith('.js') && !inside.test(name))
    .map(([name, code]) => moduleOf(name, code))
  const map = hashed(JSON.stringify({ imports: Object.fromEntries(modules) }), allowed)
  const start = hashed("import 'page/app.js'", allowed)
  const policy = [
    "default-src 'none'",
    `script-src ${allowed.join(' ')} data:`,
    `style-src ${styles.join(' ')}`,
    'worker-src blob:',
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
  const [top = '', bottom = ''] = styled.split('<script type="module" src="app.js"></script>')
  return {
    before: `${top.replace('<head>', `<head>\n    <meta http-equiv="content-security-policy" content="${policy}" />`)}<script type="importmap">${map}</script>
    <script type="module">${start}</script>
    ${workersIn(files).join('\n    ')}
    <script type="application/json" id="recording">`,
    after: `</script>${bottom}`,
  }
}

/** Workers, each with what it loads: they get at no other file. */
const workersIn = (files: ReadonlyMap<string, string>): string[] =>
  [...files]
    .filter(([name]) => name.endsWith('Worker.js'))
    .map(([name, code]) => {
      const whole = code.replace(
        /^.*importScripts\('(\w+\.js)'\).*$/m,
        (_, loaded: string) => `;${files.get(loaded) ?? ''};`,
      )
      return `<script type="text/plain" id="worker-${name}">${whole.replaceAll('</script', '<\\/script')}</script>`
    })

/** What only workers load. */
const inside = /(?:Worker|^elk)\.js$/

/** Notes that a text inside of the document may take effect. */
const hashed = (text: string, allowed: string[]): string => {
  allowed.push(`'sha256-${createHash('sha256').update(text).digest('base64')}'`)
  return text
}

/** A module by a name of its own: an address inside of a document has no place that others could be relative to. */
const moduleOf = (name: string, code: string): [string, string] => {
  const named = code.replace(/(\bfrom\s*|\bimport\s*\(?\s*)(["'])\.\/([\w-]+\.js)\2/g, "$1'page/$3'")
  return [`page/${name}`, `data:text/javascript;base64,${Buffer.from(named).toString('base64')}`]
}

/** JSON inside of a document: nothing in it may look like the end of its element. */
export const inDocument = (json: string): string => json.replaceAll('<', String.raw`\u003c`)
