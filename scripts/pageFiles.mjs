// The files of the inspector's page that are bundled, with the options of esbuild for each.
const shared = { bundle: true, format: 'esm', banner: { js: '// @ts-nocheck' }, target: 'es2022' }

/** `drop`: the parser of Markdown checks itself at every character, and would report each oddity of a model in the console. */
export const pageFiles = {
  'drawing.js': { ...shared, entryPoints: ['src/visualize/drawing.ts'] },
  'markdown.js': {
    ...shared,
    stdin: {
      contents: "export { Attr, parser, parser_end, parser_write, Token } from 'streaming-markdown'",
      resolveDir: '.',
    },
    drop: ['console'],
    minify: true,
  },
}
