// Package vocabulary has words for prompts whose length in tokens matters
// and whose sense does not.
package vocabulary

import "strings"

// Words are one token each, with the blank before them, in the usual
// vocabularies.
func Words() []string {
	return strings.Fields("the of and to in is you that it he was for on are as with his they at be this have " +
		"from or one had by word but not what all were we when your can said there use an each which she do how " +
		"their if will up other about out many then them these so some her would make")
}
