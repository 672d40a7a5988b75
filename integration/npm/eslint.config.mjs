// Rules for the scripts of the live page and their tests. Only rules that find defects; there are none
// of style.
import js from '@eslint/js';

// Markup comes from nowhere: all text is set as text.
const markup = ['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'setHTMLUnsafe', 'srcdoc'];

export default [
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      'no-undef': 'off', // tsc knows the names of the browser, and finds the others
      'no-control-regex': 'off', // texts from outside have such characters, which the page looks for

      'array-callback-return': 'error',
      'consistent-return': 'error',
      'default-case-last': 'error',
      eqeqeq: 'error',
      'no-await-in-loop': 'error',
      'no-constructor-return': 'error',
      'no-eval': 'error',
      'no-implied-eval': 'error',
      'no-lone-blocks': 'error',
      'no-new-func': 'error',
      'no-promise-executor-return': 'error',
      'no-restricted-properties': ['error', ...markup.map((property) => ({ property, message: 'Text from outside would become markup.' }))],
      'no-return-assign': 'error',
      'no-self-compare': 'error',
      'no-sequences': 'error',
      'no-template-curly-in-string': 'error',
      'no-unmodified-loop-condition': 'error',
      'no-unreachable-loop': 'error',
      'no-unused-expressions': 'error',
      'no-use-before-define': ['error', { functions: false, variables: false }], // of an outer function, they are there when it is called
      'no-useless-assignment': 'error',
      'no-var': 'error',
      'prefer-const': 'error',
      'require-atomic-updates': 'error',
    },
  },
];
