import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { type ActorRecord, mostMoments } from './ActorRecord.ts'
import { actorRow } from './actorRow.ts'
import { chartView } from './chart.ts'
import { pastMoment } from './moments.ts'
import type { Recording } from './protocol.ts'
import { mostRuns, type Recorder } from './Recorder.ts'
import { securityHeaders } from './requests.ts'
import { StoredRecord, type Subject } from './StoredRecord.ts'
import { safeJson } from './secrets.ts'
import { Watch } from './Watch.ts'
import { wireContent, wireView } from './wireRows.ts'

/** Sends a run as a file: a page that needs no server, or its data alone. */
export const exportRun = async (
  response: ServerResponse,
  { recorder, subject, files, isJson }: ExportSetup,
): Promise<void> => {
  const page = isJson ? { before: '', after: '' } : await exportedPage(files)
  const [type, ending] = isJson ? ['application/json', 'json'] : ['text/html', 'html']
  response.writeHead(200, {
    ...securityHeaders,
    'content-type': `${type}; charset=utf-8`,
    // Saved, never shown here: a page of this address could fetch everything.
    'content-disposition': `attachment; filename="statewire-run-${subject.id}.${ending}"`,
  })
  const write = async (text: string): Promise<void> => {
    if (!response.write(text)) await Promise.race([once(response, 'drain'), once(response, 'close')])
  }
  await write(page.before)
  for await (const piece of recordingOf(recorder, subject)) {
    if (response.destroyed) return
    await write(isJson ? piece : inDocument(piece))
  }
  response.end(page.after)
}

type ExportSetup = { recorder: Recorder; subject: Subject; files: PageFiles; isJson: boolean }

/** Characters of moments with their whole context: a run has the same context many times. */
const mostPast = 12 * 1024 * 1024

/** Time for which the process is kept busy without a pause. */
const busyMs = 5

/**
 * A run with everything that is known about it, as the pieces of one JSON text (see {@link Recording}). They are made one
 * after the other, with pauses: the process that is watched has other work to do.
 */
async function* recordingOf(recorder: Recorder, subject: Subject): AsyncGenerator<string> {
  const { secrets } = recorder
  const subjects = partsOf(recorder, subject)
  const json = (value: unknown) => safeJson(value, secrets)
  const pause = pauses()
  const rows = subjects.map((each) => ({ ...actorRow(recorder, each), canAbort: false, canRestart: false }))
  const head: Omit<Recording, 'watched' | 'answers'> = {
    statewire: 'recording',
    version: 1,
    at: Date.now(),
    limits: { moments: mostMoments, runs: mostRuns },
    actors: rows,
  }
  yield `${json(head).slice(0, -1)},"watched":{`
  for (const [index, each] of subjects.entries()) {
    await pause()
    yield `${index > 0 ? ',' : ''}"${each.id}":${json(new Watch(recorder, each).next() ?? { id: each.id })}`
  }
  yield '},"answers":{"":null'
  for await (const [path, value] of answersOf(recorder, subjects)) {
    await pause()
    yield `,${JSON.stringify(path)}:${json(value)}`
  }
  yield '}}'
}

/** Everything that a page could fetch, and the answers. */
async function* answersOf(recorder: Recorder, subjects: Subject[]): AsyncGenerator<[string, unknown]> {
  const { secrets } = recorder
  let left = mostPast
  for (const subject of subjects) {
    const { id, machine } = subject
    if (machine) yield [`chart?actor=${id}`, chartView(machine)]
    yield [`run?actor=${id}`, new Watch(recorder, subject).next() ?? {}]
    const view = wireView(subject, secrets)
    yield [`wire?actor=${id}`, view]
    for (const call of view.calls)
      yield [`call?actor=${id}&call=${call.id}`, wireContent(subject, call.id, secrets)]
  }
  // The last moments of each actor matter most.
  for (const subject of subjects) {
    for (const { seq } of subject.moments.toReversed()) {
      const moment = left > 0 && pastMoment(recorder, subject, seq)
      if (!moment) break
      left -= JSON.stringify(moment).length
      yield [`moment?actor=${subject.id}&seq=${seq}`, moment]
    }
  }
}

/** The actors of a run, its agents first. */
const partsOf = ({ actors, subjects }: Recorder, subject: Subject): Subject[] => {
  if (subject instanceof StoredRecord) return [subject, ...subjects.filter((each) => isBelow(each, subject))]
  const all = [...actors.values()].filter(({ root }) => root === subject.root)
  const weight = (record: ActorRecord) => (record.isAgent ? 0 : record.machine ? 1 : 2)
  return all.sort((a, b) => weight(a) - weight(b) || a.id - b.id)
}

const isBelow = ({ parent }: Subject, above: Subject): boolean =>
  parent !== null && (parent === above || isBelow(parent, above))

const pauses = () => {
  let since = performance.now()
  return async (): Promise<void> => {
    if (performance.now() - since < busyMs) return
    await new Promise((resolve) => setTimeout(resolve, busyMs))
    since = performance.now()
  }
}

/** The files of the page by their names, and where they are. */
type PageFiles = ReadonlyMap<string, URL | string>

/** The page as one document that needs no server, in two parts: the data of a run goes between them. */
const exportedPage = async (places: PageFiles): Promise<{ before: string; after: string }> => {
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

/** Workers, each with the script that it loads: they cannot reach any other file. */
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

/** Names of files that only workers load. */
const inside = /(?:Worker|^elk)\.js$/

/** Allows a script or style inside the document, by its hash. */
const hashed = (text: string, allowed: string[]): string => {
  allowed.push(`'sha256-${createHash('sha256').update(text).digest('base64')}'`)
  return text
}

/** A module under an absolute name: a module inside a document has no address that others could be relative to. */
const moduleOf = (name: string, code: string): [string, string] => {
  const named = code.replace(/(\bfrom\s*|\bimport\s*\(?\s*)(["'])\.\/([\w-]+\.js)\2/g, "$1'page/$3'")
  return [`page/${name}`, `data:text/javascript;base64,${Buffer.from(named).toString('base64')}`]
}

/** Escapes JSON inside a document: nothing in it may look like the end of its element. */
const inDocument = (json: string): string => json.replaceAll('<', String.raw`\u003c`)
