/** The name of a model as a part of a path: Google's and Vertex's have slashes, and versions after an `@`. */
export const modelPath = (model: string): string =>
  model
    .split('/')
    .map((part) => encodeURIComponent(part).replaceAll('%40', '@'))
    .join('/')
