"""What goes over the wire: names, forms and limits of requests and answers."""
