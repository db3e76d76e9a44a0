import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { exportedPage, inDocument, type PageFiles } from './exportedPage.ts'
import type { Recorder } from './Recorder.ts'
import { recordingOf } from './recording.ts'
import type { Subject } from './StoredRecord.ts'
import { securityHeaders } from './security.ts'

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
    // Saved, never shown here: a page of this address could ask for anything.
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

export type ExportSetup = { recorder: Recorder; subject: Subject; files: PageFiles; isJson: boolean }
