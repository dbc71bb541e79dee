// The order of the pages, by their names below docs/ without `.md`. A page that is missing here fails the build of the site.
export const SIDEBAR = [
  ['Begin', ['start', 'concepts', 'comparison', 'cookbook/index']],
  [
    'Use it',
    [
      ...['configuration', 'endpoints', 'sdks', 'routing', 'limits', 'translation', 'tasks'],
      ...['image-tasks', 'import'],
    ],
  ],
  [
    'Run it',
    [
      ...['deploying', 'platforms', 'operating', 'fleet', 'console', 'logging', 'traces'],
      ...['credentials', 'clouds', 'identity', 'egress'],
      ...['regions', 'plan', 'receipts', 'scaling'],
    ],
  ],
  ['Test with it', ['library', 'testing', 'recording', 'probe', 'checking', 'simulator']],
  [
    'Reference',
    [
      ...[
        'reference/configuration',
        'reference/cli',
        'reference/translation',
        'reference/simulator',
        'providers',
        'errors',
        'metrics',
      ],
      ...['reference/log', 'reference/lint', 'audit', 'clients', 'faults', 'benchmarks', 'reliability', 'glossary'],
    ],
  ],
  ['Change it', ['architecture', 'decisions/README']],
]

/** Folders whose pages are listed by the index that is named here, and need no place of their own. */
export const LISTED_BY_INDEX = { 'cookbook/': 'cookbook/index', 'decisions/': 'decisions/README' }
