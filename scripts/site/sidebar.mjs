// The order of the pages, by their names below docs/ without `.md`. A page that is missing here fails the build of the site.
export const SIDEBAR = [
  ['Begin', ['start', 'concepts', 'comparison', 'cookbook/index']],
  [
    'Use it',
    [
      ...['configuration', 'endpoints', 'sdks', 'clients', 'providers', 'routing', 'limits', 'translation', 'tasks'],
      ...['image-tasks', 'errors', 'import'],
    ],
  ],
  [
    'Run it',
    [
      ...[
        'deploying',
        'platforms',
        'operating',
        'console',
        'logging',
        'metrics',
        'traces',
        'credentials',
        'clouds',
        'identity',
        'egress',
      ],
      ...['regions', 'audit', 'plan', 'receipts', 'scaling', 'reliability'],
    ],
  ],
  ['Test with it', ['library', 'testing', 'recording', 'probe', 'checking', 'simulator', 'faults']],
  ['Reference', ['reference/configuration', 'reference/translation', 'reference/simulator', 'glossary']],
  ['Change it', ['architecture', 'decisions/README']],
]

/** Folders whose pages are listed by the index that is named here, and need no place of their own. */
export const LISTED_BY_INDEX = { 'cookbook/': 'cookbook/index', 'decisions/': 'decisions/README' }
