import { get, type IncomingMessage } from 'node:http'
import { type Inspector, startInspector } from '../../src/inspector/startInspector.ts'

/** An inspector with pages that come and go: one reads all it is given, the other nothing. */
export class Watchers {
  static async open(): Promise<Watchers> {
    return new Watchers(await startInspector())
  }

  private readonly pages: Promise<IncomingMessage>[] = []
  private readonly inspector: Inspector

  private constructor(inspector: Inspector) {
    this.inspector = inspector
  }

  get inspect(): Inspector['inspect'] {
    return this.inspector.inspect
  }

  async change(): Promise<void> {
    for (const page of this.pages.splice(0)) (await page).destroy()
    for (const isReading of [true, false])
      this.pages.push(
        new Promise((resolve, reject) => {
          const asked = get(
            `${this.inspector.url}events`,
            { headers: { 'sec-fetch-site': 'same-origin' } },
            (page) => {
              page.on('error', () => {})
              if (isReading) page.resume()
              if (page.statusCode === 200) resolve(page)
              else reject(new Error(`The inspector answers with ${page.statusCode}.`))
            },
          )
          asked.on('error', reject)
        }),
      )
    await Promise.all(this.pages)
  }

  async close(): Promise<void> {
    for (const page of this.pages.splice(0)) (await page).destroy()
    await this.inspector.close()
  }
}
